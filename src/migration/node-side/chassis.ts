// Open vSwitch of this node, as far as others need to know of it: which chassis it is, which physical networks it has,
// and which interface is which logical port. Followed through its own database.
import type { Clock } from "../../kube/clock.ts";
import { follow } from "../../ovsdb/cache/followed.ts";
import { openVSwitch } from "../../ovsdb/schema/open-vswitch.ts";
import { OvsdbClient } from "../../ovsdb/session/client.ts";

const interfaces = follow(openVSwitch, "Interface", {
  columns: ["name", "external_ids"],
  indexes: { port: ({ external_ids: ids }) => [ids.get("iface-id")].filter((port) => port !== undefined) },
});
const switches = follow(openVSwitch, "Open_vSwitch", { columns: ["external_ids"] });

export class Chassis {
  readonly #client: OvsdbClient;

  constructor(options: {
    readonly endpoints: string;
    readonly clock: Clock;
    readonly onError: (error: Error) => void;
  }) {
    this.#client = new OvsdbClient({ ...options, database: openVSwitch, followed: [switches, interfaces] });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#client.run(signal);
  }

  handle(changed: () => void): () => void {
    return this.#client.handle(changed);
  }

  /** Undefined: it is not known yet, or it has none. */
  get name(): string | undefined {
    return this.#ids.get("system-id");
  }

  /** Physical network -> bridge, as ovn-controller reads them: `physnet:br-ex,lan:br-lan`. */
  get mappings(): ReadonlyMap<string, string> {
    const pairs = (this.#ids.get("ovn-bridge-mappings") ?? "").split(",").map((each) => each.trim().split(":"));
    return new Map(pairs.flatMap(([network = "", bridge = ""]) => (bridge === "" ? [] : [[network, bridge] as const])));
  }

  /** The interface that is plugged in as this logical port; undefined: none is. */
  linkOf(port: string): string | undefined {
    return this.#client.rows(interfaces).by("port", port)[0]?.name;
  }

  get #ids(): ReadonlyMap<string, string> {
    const [row] = this.#client.rows(switches).list();
    return row?.external_ids ?? new Map<string, string>();
  }
}
