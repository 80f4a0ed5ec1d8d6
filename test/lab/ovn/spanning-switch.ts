// One switch over all nodes, for a secondary network: its rows are written here by hand, as nothing of Holdfast's
// writes such networks yet. Nothing here is a model for it.
import { named, type Operation, Operations } from "../../../src/ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../../src/ovsdb/schema/ovn-northbound.ts";
import { LabClient } from "./client.ts";
import type { OvnLab } from "./lab.ts";

const nb = new Operations(ovnNorthbound);
type Options = Readonly<Record<string, string>>;

export class SpanningSwitch implements AsyncDisposable {
  readonly #name: string;
  readonly #client: LabClient;

  private constructor(name: string, client: LabClient) {
    this.#name = name;
    this.#client = client;
  }

  static async open(lab: OvnLab, name: string, signal?: AbortSignal): Promise<SpanningSwitch> {
    const client = await LabClient.open(ovnNorthbound, lab.northbound(), [], signal);
    await client.ovsdb.transact([nb.insert("Logical_Switch", { name })]);
    return new SpanningSwitch(name, client);
  }

  async port(name: string, mac: string, address: string, options: Options): Promise<void> {
    await this.#client.ovsdb.transact(this.#port(name, mac, address, options));
  }

  /** One that DHCP answers, with the subnet's first address as its server. */
  async servedPort(name: string, mac: string, address: string, options: Options): Promise<void> {
    const server = address.replace(/\d+$/, "1");
    const dhcp = {
      cidr: `${address.replace(/\d+$/, "0")}/24`,
      options: { lease_time: "3500", router: server, server_id: server, server_mac: "0a:58:a9:fe:01:01", mtu: "1400" },
    };
    await this.#client.ovsdb.transact([
      nb.insert("DHCP_Options", dhcp, { named: "dhcp" }),
      ...this.#port(name, mac, address, options),
      nb.update("Logical_Switch_Port", [["name", "==", name]], { dhcpv4_options: named("dhcp") }),
    ]);
  }

  /** Its options, all of them. */
  async options(port: string, options: Options): Promise<void> {
    await this.#client.ovsdb.transact([nb.update("Logical_Switch_Port", [["name", "==", port]], { options })]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }

  #port(name: string, mac: string, address: string, options: Options): Operation[] {
    const both = [`${mac} ${address}`];
    return [
      nb.insert("Logical_Switch_Port", { name, addresses: both, port_security: both, options }, { named: "port" }),
      nb.mutate("Logical_Switch", [["name", "==", this.#name]], [["ports", "insert", [named("port")]]]),
    ];
  }
}
