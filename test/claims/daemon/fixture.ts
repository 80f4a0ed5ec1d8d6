// What stories of claims and daemons share: a server with all kinds, daemons, objects as of KubeVirt and our leader.
import {
  claimFinalizer,
  claimName,
  claimNicAnnotation,
  claimOwnerAnnotation,
  managedLabelName,
} from "../../../src/api/claims/claim-marks.ts";
import { ipamClaimKind } from "../../../src/api/claims/ipam-claim.ts";
import { hashedInterfaceName } from "../../../src/api/claims/kubevirt.ts";
import { definitionOf } from "../../../src/api/definition.ts";
import { claimsKey, writeClaimsState } from "../../../src/cluster/claims-state.ts";
import {
  configMaps,
  ipamClaims,
  nodes,
  type Pod,
  pods,
  type StoredClaim,
  virtualMachineInstances,
  virtualMachines,
} from "../../../src/cluster/resources.ts";
import { stateName } from "../../../src/cluster/state.ts";
import type { Hold } from "../../../src/ipam/ledger.ts";
import { ownerKey } from "../../../src/ipam/owner.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import type { AnyObject, KubeObject } from "../../../src/kube/meta.ts";
import { defineResource } from "../../../src/kube/resource.ts";
import type { KubeClient } from "../../../src/kube/rest.ts";
import type { ApiRequest, Transport } from "../../../src/kube/transport/transport.ts";
import { listHolds } from "../../../src/ledger/reservation/list-holds.ts";
import { ReservationLedger } from "../../../src/ledger/reservation/reservation-ledger.ts";
import { until } from "../../lab/wait.ts";
import { toldState } from "../../ledger/told-state.ts";
import type { DaemonFixture, DaemonFixtureOptions } from "../../node/daemon-fixture.ts";
import { network, type Server, Fixture } from "../../node/fixture.ts";
import { podArgs, type Told } from "../../node/shim.ts";
import { Line } from "../../slices/line.ts";
import { install } from "../kubevirt/crds.ts";
import {
  type Launcher,
  launcherMetadata,
  type LauncherOptions,
  type Machine,
  type MachineOptions,
  specOf,
} from "./objects.ts";

export const namespace = "default";

const definitions = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

interface Event extends KubeObject {
  readonly reason: string;
  readonly involvedObject: { readonly name: string };
}

const events = defineResource<Event>({ group: "", version: "v1", plural: "events", kind: "Event", namespaced: true });

export class ClaimFixture {
  readonly #fixture: Fixture;
  readonly #server: Server;
  /** Node -> its daemon. */
  readonly #daemonFixtures = new Map<string, DaemonFixture>();

  private constructor(fixture: Fixture, server: Server) {
    this.#fixture = fixture;
    this.#server = server;
  }

  static async open(server: Server): Promise<ClaimFixture> {
    const fixture = await Fixture.open(server);
    const { admin } = fixture;
    try {
      await admin.create(definitions, definitionOf(ipamClaimKind) as unknown as AnyObject);
    } catch (error) {
      if (!isApiError(error, "already-exists")) throw error; // deploy/crds has it
    }
    await install(admin);
    await until(() => admin.list(ipamClaims).then(() => true), { what: "claims to be served" });
    const opened = new ClaimFixture(fixture, server);
    await opened.gate("on");
    for (const name of ["node1", "node2", "node3"]) await admin.create(nodes, { metadata: { name } });
    return opened;
  }

  get admin(): KubeClient {
    return this.#fixture.admin;
  }

  close(): Promise<void> {
    return this.#fixture.close();
  }

  fresh(prefix: string): string {
    return this.#fixture.fresh(prefix);
  }

  beside(): Promise<AsyncDisposable> {
    return this.#fixture.beside();
  }

  namespace(name: string, annotations: Record<string, string> = {}): Promise<string> {
    return this.#fixture.namespace(name, annotations);
  }

  /** What the leader tells. */
  async gate(gate: "on" | "off" | "unknown", needsLabel = false): Promise<void> {
    const data = {
      ...toldState().data,
      ...(gate !== "unknown" && { [claimsKey]: writeClaimsState({ gate, needsLabel }) }),
    };
    const object = { metadata: { namespace: "kube-system", name: stateName }, data };
    try {
      await this.admin.update(configMaps, object);
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
      await this.admin.create(configMaps, object);
    }
  }

  /** The one daemon of a node. */
  async daemonFixture(node: string): Promise<DaemonFixture> {
    const daemonFixture = this.#daemonFixtures.get(node) ?? (await this.daemon({ node }));
    this.#daemonFixtures.set(node, daemonFixture);
    return daemonFixture;
  }

  daemon(options: Partial<DaemonFixtureOptions>): Promise<DaemonFixture> {
    return this.#fixture.daemon(options);
  }

  /** A daemon whose line is in the test's hands. */
  async lined(
    options: Partial<DaemonFixtureOptions>,
  ): Promise<{ readonly daemonFixture: DaemonFixture; readonly line: Line }> {
    const line = new Line(this.#server.transport);
    return { daemonFixture: await this.daemon({ ...options, transport: line.transport }), line };
  }

  /** A daemon whose requests are written down. */
  async recorded(
    options: Partial<DaemonFixtureOptions>,
  ): Promise<{ readonly daemonFixture: DaemonFixture; readonly requests: ApiRequest[] }> {
    const requests: ApiRequest[] = [];
    const transport: Transport = (request) => {
      requests.push(request);
      return this.#server.transport(request);
    };
    return { daemonFixture: await this.daemon({ ...options, transport }), requests };
  }

  /** A daemon before whose requests something happens. */
  through(node: string, before: (request: ApiRequest) => Promise<void>): Promise<DaemonFixture> {
    const { transport } = this.#server;
    const through = async (request: ApiRequest) => {
      await before(request);
      return transport(request);
    };
    return this.daemon({ node, transport: through });
  }

  /** As the leader writes them. */
  async setIps(name: string, ips: readonly string[]): Promise<void> {
    const body = { status: { ips } };
    await this.admin.patch(ipamClaims, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  }

  /** The VM and its VMI. */
  async machine(name: string, options: MachineOptions = {}): Promise<Machine> {
    const { labels = {}, isBare = false } = options;
    const spec = { running: true, template: { spec: specOf(options) } };
    if (isBare) return this.instance({ name, ownerUid: "" }, options);
    const vm = await this.admin.create(virtualMachines, { metadata: { namespace, name, labels }, spec });
    return this.instance({ name, ownerUid: vm.metadata.uid! }, options);
  }

  /** A VMI of it; where there is one already, in its place: the VM was started again. */
  async instance(
    { name, ownerUid }: Pick<Machine, "name" | "ownerUid">,
    options: MachineOptions = {},
  ): Promise<Machine> {
    await this.gone(virtualMachineInstances, name);
    const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid: ownerUid, controller: true };
    const spec = specOf(options);
    const metadata = { namespace, name, ...(ownerUid !== "" && { ownerReferences: [owner] }) };
    const vmi = await this.admin.create(virtualMachineInstances, { metadata, spec });
    const vmiUid = vmi.metadata.uid!;
    return { name, ownerUid: ownerUid === "" ? vmiUid : ownerUid, vmiUid, networks: spec.networks };
  }

  /** A pod of the VMI, as virt-controller makes it. */
  async launcher(machine: Machine, node: string, options: LauncherOptions = {}): Promise<Launcher> {
    return this.pod(node, this.fresh(`virt-launcher-${machine.name}`), launcherMetadata(machine, options));
  }

  async pod(node: string, name: string, metadata: Partial<KubeObject["metadata"]> = {}): Promise<Launcher> {
    const spec = { nodeName: node, containers: [{ name: "compute", image: "none" }] };
    const made: Pod = await this.admin.create(pods, { metadata: { namespace, name, ...metadata }, spec });
    return { node, name, uid: made.metadata.uid!, sandbox: `${name}-0` };
  }

  /** The claim, as the leader makes it. */
  async claim(
    machine: Machine,
    nic: string,
    net: string,
    metadata: Partial<KubeObject["metadata"]> = {},
  ): Promise<StoredClaim> {
    const { annotations, labels, ...more } = metadata;
    return this.admin.create(ipamClaims, {
      metadata: {
        namespace,
        name: claimName(machine.name, nic),
        finalizers: [claimFinalizer],
        labels: { [managedLabelName]: "true", ...labels },
        annotations: { [claimOwnerAnnotation]: machine.ownerUid, [claimNicAnnotation]: nic, ...annotations },
        ...more,
      },
      spec: { network: net, interface: "" },
    });
  }

  /** Made by hand. */
  stake(name: string, net: string, metadata: Partial<KubeObject["metadata"]> = {}): Promise<StoredClaim> {
    const spec = { network: net, interface: "" };
    return this.admin.create(ipamClaims, { metadata: { namespace, name, ...metadata }, spec });
  }

  /** Deleted, and its finalizers with it. */
  async forceAway(name: string): Promise<void> {
    await this.admin.delete(ipamClaims, { namespace, name });
    const body = { metadata: { finalizers: [] } };
    await this.admin.patch(ipamClaims, { namespace, name }, { type: "merge", body }).catch(() => {}); // it had none
  }

  read(name: string): Promise<StoredClaim> {
    return this.admin.get(ipamClaims, { namespace, name });
  }

  /** The claim, when its status is as the condition says. */
  async settled(name: string, isSo: (claim: StoredClaim) => boolean): Promise<StoredClaim> {
    return until(
      async () => {
        const claim = await this.read(name);
        if (isSo(claim)) return claim;
        throw new Error(JSON.stringify(claim.status ?? null));
      },
      { what: `the status of ${name}` },
    );
  }

  /** Waits for events, each as `object reason`. */
  async told(...wanted: readonly string[]): Promise<void> {
    const isTold = async () => {
      const { items } = await this.admin.list(events, { namespace });
      const lines = new Set(items.map(({ reason, involvedObject }) => `${involvedObject.name} ${reason}`));
      return wanted.every((each) => lines.has(each));
    };
    await until(isTold, { what: wanted.join(", ") });
  }

  ask(command: string, launcher: Launcher, config: object, nic = "blue", daemonFixture?: DaemonFixture): Promise<Told> {
    return this.askAt(command, launcher, config, hashedInterfaceName(nic), daemonFixture);
  }

  async askAt(
    command: string,
    { node, name, uid, sandbox }: Launcher,
    config: object,
    interfaceName: string,
    daemonFixture?: DaemonFixture,
  ): Promise<Told> {
    const daemon = daemonFixture ?? (await this.daemonFixture(node));
    return daemon.ask({ command, container: sandbox, interfaceName, args: podArgs(namespace, name, uid), config });
  }

  /** Its addresses, in the order of the ranges. */
  async add(launcher: Launcher, config: object, nic = "blue", daemonFixture?: DaemonFixture): Promise<string[]> {
    return addressesOf(await this.ask("ADD", launcher, config, nic, daemonFixture));
  }

  /** Forced, as a test can: the object is gone at once. */
  async gone(resource: Parameters<KubeClient["get"]>[0], name: string): Promise<void> {
    try {
      await this.admin.delete(resource, { namespace, name }, { gracePeriodSeconds: 0 });
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
    }
  }

  /** As virt-controller says where a VMI runs. */
  async runsIn({ name }: Machine, { uid, node }: Launcher): Promise<void> {
    const body = { status: { phase: "Running", nodeName: node, activePods: { [uid]: node } } };
    await this.admin.patch(virtualMachineInstances, { namespace, name }, { type: "merge", body });
  }

  /** Pod's phase, as its kubelet reports it. */
  async end({ name }: Launcher, phase = "Succeeded"): Promise<void> {
    const body = { status: { phase } };
    await this.admin.patch(pods, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  }

  /** What is held in the network, in the order of addresses. */
  async held(net: string): Promise<Hold[]> {
    const found: Hold[] = [];
    for await (const each of listHolds(this.admin)) {
      if (each.unreadable !== undefined) throw new Error(each.unreadable);
      if (each.hold.domain === `network:${net}`) found.push(each.hold);
    }
    return found.sort((a, b) => (String(a.address) < String(b.address) ? -1 : 1));
  }

  /** As the leader frees it. */
  async release({ domain, address, owner, version }: Hold, cooldownMs = 0): Promise<void> {
    const ledger = new ReservationLedger({ client: this.admin, namespace: "kube-system", now: Date.now });
    await ledger.release({ domain, address, owner: ownerKey(owner), version, cooldownMs });
  }

  /** `address kind:owner users`, of each. */
  async lines(net: string): Promise<string[]> {
    const holds = await this.held(net);
    return holds.map(({ address, owner, users = [] }) => {
      const who = users.map(({ name, node }) => `${name}@${node}`).join(" ");
      return `${address} ${owner.kind}:${owner.name}${who === "" ? "" : ` ${who}`}`;
    });
  }
}

export function addressesOf({ status, text, json }: Told): string[] {
  if (status !== 0) throw new Error(`the command failed: ${text}`);
  return json.ips.map(({ address }: { address: string }) => address);
}

/** A network that lets addresses stay. */
export function persistent(name: string, ipam: object, more: object = {}): object {
  return network(name, { network_name: name, ...ipam }, { allowPersistentIPs: true, ...more });
}

export function conditionOf({ status }: StoredClaim): string {
  const condition = status?.conditions?.find(({ type }) => type === "IPsAllocated");
  return `${condition?.status} ${condition?.reason}`;
}
