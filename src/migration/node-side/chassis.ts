// Open vSwitch of this node, as far as others need to know of it: which chassis it is, and which physical networks it
// has. Followed through its own database.
import type { Clock } from "../../kube/clock.ts";
import { follow } from "../../ovsdb/cache/followed.ts";
import { openVSwitch } from "../../ovsdb/schema/open-vswitch.ts";
import { OvsdbClient } from "../../ovsdb/session/client.ts";

const switches = follow(openVSwitch, "Open_vSwitch", { columns: ["external_ids"] });

export class Chassis {
  readonly #client: OvsdbClient;

  constructor(options: {
    readonly endpoints: string;
    readonly clock: Clock;
    readonly onError: (error: Error) => void;
  }) {
    this.#client = new OvsdbClient({ ...options, database: openVSwitch, followed: [switches] });
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

  get #ids(): ReadonlyMap<string, string> {
    const [row] = this.#client.rows(switches).list();
    return row?.external_ids ?? new Map<string, string>();
  }
}
