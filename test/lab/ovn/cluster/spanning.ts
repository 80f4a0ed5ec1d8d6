// A secondary network whose switch spans the lab's nodes: switch, VMs' ports and what DHCP tells them are Holdfast's
// own rows (src/ovn/spanning); pods' ports are written here, as on the default network.
import type { NodeSubnets } from "../../../../src/migration/objects/node-subnets.ts";
import { parseAddress, plus } from "../../../../src/net/address.ts";
import type { Prefix } from "../../../../src/net/prefix.ts";
import { Northbound, northboundTables } from "../../../../src/ovn/northbound.ts";
import { type SpanningNetwork, type SpanningVm, spanningVmOf } from "../../../../src/ovn/spanning/network.ts";
import { desiredSpanning, spanningPort, spanningSwitch } from "../../../../src/ovn/spanning/rows.ts";
import type { VmPlacement } from "../../../../src/ovn/vm/placement.ts";
import { macOf } from "../../../../src/ovn/zone/addresses.ts";
import { named, Operations } from "../../../../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../../../src/ovsdb/schema/ovn-northbound.ts";
import { LabClient } from "../client.ts";
import type { OvnLab } from "../lab.ts";
import type { OvnPod } from "../pod.ts";
import type { VmIdentity } from "./launchers.ts";
import { PlayedVm, type VmNetwork } from "./played-vm.ts";

const nb = new Operations(ovnNorthbound);
const namespace = "t";

export class LabSpanningNetwork implements AsyncDisposable, VmNetwork {
  readonly lab: OvnLab;
  readonly guestFamilies = [4] as const;
  readonly moreRoutes = [] as const;
  /** No node is the home of an address. */
  readonly subnets: NodeSubnets = new Map();
  readonly #network: SpanningNetwork;
  readonly #subnet: Prefix;
  readonly #client: LabClient;
  readonly #northbound: Northbound;
  /** Key: the VM's name. */
  readonly #vms = new Map<string, SpanningVm>();

  private constructor(lab: OvnLab, network: SpanningNetwork, subnet: Prefix, client: LabClient) {
    this.lab = lab;
    this.#network = network;
    this.#subnet = subnet;
    this.#client = client;
    this.#northbound = new Northbound(client.ovsdb);
  }

  static async open(lab: OvnLab, network: SpanningNetwork, subnet: Prefix, signal: AbortSignal) {
    const client = await LabClient.open(ovnNorthbound, lab.northbound(), northboundTables, signal);
    const made = new LabSpanningNetwork(lab, network, subnet, client);
    await made.#apply(signal);
    return made;
  }

  /** The subnet's so many-th address. */
  addressOf(number: number): string {
    return `${plus(this.#subnet.network, number)!}`;
  }

  async pod(name: string, node: string, number: number, signal: AbortSignal): Promise<OvnPod> {
    const address = this.addressOf(number);
    const mac = macOf(parseAddress(address));
    const port = spanningPort(this.#network, { namespace, name });
    const own = [`${mac} ${address}`];
    const row = { name: port, addresses: own, port_security: own, options: { "requested-chassis": node } };
    await this.#client.ovsdb.transact([
      nb.insert("Logical_Switch_Port", row, { named: "port" }),
      nb.mutate(
        "Logical_Switch",
        [["name", "==", spanningSwitch(this.#network)]],
        [["ports", "insert", [named("port")]]],
      ),
    ]);
    const addresses = [`${address}/${this.#subnet.length}`];
    const pod = await this.lab.pod(node, { name, port, mac, addresses }, signal);
    await pod.installed(signal);
    return pod;
  }

  /** Its claim has this address, on whatever node it is started. */
  async vm(name: string, node: string, number: number, signal: AbortSignal): Promise<PlayedVm> {
    const address = plus(this.#subnet.network, number)!;
    const addresses = [{ address, prefix: this.#subnet }];
    const network = { addresses, mac: macOf(address), gateways: [], routes: [], role: "primary" };
    return await PlayedVm.start(this, { namespace, name, network }, node, signal);
  }

  /** One port, which any pod's interface may be. */
  portOf(vm: VmIdentity): { port: string } {
    return { port: spanningPort(this.#network, vm) };
  }

  async write(
    { name }: VmIdentity,
    placement: VmPlacement | "gone",
    _from: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (placement === "gone") this.#vms.delete(name);
    else
      this.#vms.set(
        name,
        spanningVmOf(placement, (node) => node),
      );
    await this.#apply(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }

  async #apply(signal: AbortSignal): Promise<void> {
    await this.#northbound.apply(desiredSpanning(this.#network, [...this.#vms.values()]), signal);
  }
}
