// Open vSwitch of this node, through its own database: ports of br-int, which ovn-controller binds by their marks.
//
// Promised: a logical port has one interface on this node at the most; `put` and `remove` are each one transaction and
// do nothing a second time. Not promised: that the switch forwards when `put` has come back; `installed` tells that.
import { follow } from "../../ovsdb/cache/followed.ts";
import { named, type Operation, Operations } from "../../ovsdb/operations/operation.ts";
import { openVSwitch } from "../../ovsdb/schema/open-vswitch.ts";
import type { OvsdbClient } from "../../ovsdb/session/client.ts";

const vs = new Operations(openVSwitch);

const interfaces = follow(openVSwitch, "Interface", {
  columns: ["name", "ofport", "external_ids", "error"],
  indexes: { name: (row) => [row.name], port: ({ external_ids: ids }) => idOf(ids, "iface-id") },
});
const ports = follow(openVSwitch, "Port", {
  columns: ["name", "interfaces"],
  indexes: { name: (row) => [row.name], interface: (row) => row.interfaces },
});
const bridges = follow(openVSwitch, "Bridge", {
  columns: ["name", "ports"],
  indexes: { name: (row) => [row.name], port: (row) => row.ports },
});
const switches = follow(openVSwitch, "Open_vSwitch", { columns: ["external_ids"] });

export const switchTables = [interfaces, ports, bridges, switches];

const bridge = "br-int";

interface SwitchPort {
  /** The node's end of the cable. */
  readonly link: string;
  readonly marks: Readonly<Record<string, string>>;
}

interface FoundInterface {
  readonly name: string;
  readonly marks: ReadonlyMap<string, string>;
  /** What the switch says against it; empty: nothing. */
  readonly error: string;
}

export class LocalSwitch {
  readonly #client: Pick<OvsdbClient, "rows" | "transact" | "until" | "hasSynced" | "status" | "lastError">;

  constructor(client: Pick<OvsdbClient, "rows" | "transact" | "until" | "hasSynced" | "status" | "lastError">) {
    this.#client = client;
  }

  /** In a sentence why nothing can be attached; empty: nothing keeps it. */
  get obstacle(): string {
    const { status, lastError } = this.#client;
    if (status.kind !== "connected")
      return `Open vSwitch of this node is not reached (${lastError?.message ?? "it was not asked yet"}): look whether it runs, and at --ovs-database.`;
    if (this.chassis === "") return "Open vSwitch of this node has no system-id in its external_ids: set it.";
    const [known] = this.#client.rows(bridges).by("name", bridge);
    return known === undefined ? `Open vSwitch of this node has no bridge ${bridge}: start ovn-controller.` : "";
  }

  /** The name by which OVN knows this node; empty: it has none yet. */
  get chassis(): string {
    return this.#ids.get("system-id") ?? "";
  }

  /** Physical networks -> bridges, as ovn-controller reads them. */
  get bridgeMappings(): ReadonlyMap<string, string> {
    const pairs = (this.#ids.get("ovn-bridge-mappings") ?? "").split(",").map((each) => each.split(":"));
    return new Map(pairs.flatMap(([network = "", to = ""]) => (network === "" ? [] : [[network, to] as const])));
  }

  async synced(signal: AbortSignal): Promise<void> {
    await this.#client.until(() => this.#client.hasSynced || undefined, signal);
  }

  find(link: string): FoundInterface | undefined {
    const [row] = this.#client.rows(interfaces).by("name", link);
    return row && { name: row.name, marks: row.external_ids, error: row.error ?? "" };
  }

  /** Another interface of the same logical port (a sandbox that is over) goes in the same transaction. */
  async put({ link, marks }: SwitchPort, signal: AbortSignal): Promise<void> {
    const known = this.find(link);
    const others = this.#client
      .rows(interfaces)
      .by("port", marks["iface-id"] ?? "")
      .filter(({ name }) => name !== link);
    const isThere =
      known !== undefined && Object.entries(marks).every(([key, value]) => known.marks.get(key) === value);
    if (isThere && others.length === 0) return;
    const old = [...others.map(({ name }) => name), ...(known === undefined ? [] : [link])];
    const operations = [
      ...this.#removal(old),
      vs.insert("Interface", { name: link, external_ids: { ...marks } }, { named: "link" }),
      // A port that outlives the machine's boot has no cable: Open vSwitch's own start takes it away.
      vs.insert(
        "Port",
        { name: link, interfaces: [named("link")], other_config: { transient: "true" } },
        { named: "port" },
      ),
      vs.mutate("Bridge", [["name", "==", bridge]], [["ports", "insert", [named("port")]]]),
    ];
    await this.#client.transact(operations, { signal });
  }

  /** Resolves when OVN's flows for the port are in the switch. Rejects when the signal aborts. */
  async installed(link: string, signal: AbortSignal): Promise<void> {
    const look = () => this.find(link)?.marks.get("ovn-installed") === "true" || undefined;
    await this.#client.until(look, signal);
  }

  async remove(link: string, signal: AbortSignal): Promise<void> {
    await this.synced(signal);
    const operations = this.#removal([link]);
    if (operations.length > 0) await this.#client.transact(operations, { signal });
  }

  get #ids(): ReadonlyMap<string, string> {
    const [row] = this.#client.rows(switches).list();
    return row?.external_ids ?? new Map<string, string>();
  }

  /** A port that no bridge has is gone, with its interface. */
  #removal(links: readonly string[]): Operation[] {
    const known = links.flatMap((link) => this.#client.rows(ports).by("name", link));
    return known.flatMap(({ uuid }) =>
      this.#client
        .rows(bridges)
        .by("port", uuid)
        .map((holder) => vs.mutate("Bridge", [["_uuid", "==", holder.uuid]], [["ports", "delete", [uuid]]])),
    );
  }
}

function idOf(ids: ReadonlyMap<string, string>, key: string): string[] {
  const value = ids.get(key);
  return value === undefined ? [] : [value];
}
