// A zone's southbound database, as far as ovn-northd leaves it to others: the nodes of other zones as chassis, so that
// tunnels lead there, and on which of them the ports of these nodes on the transit switch are.
//
// Promised: what is there already stays; a chassis of this zone is never touched. Not promised: ports that ovn-northd
// has not made yet: apply again behind a barrier.
import type { Address } from "../../net/address.ts";
import type { NamedUuid, Uuid } from "../../ovsdb/notation/uuid.ts";
import { type Operation, Operations } from "../../ovsdb/operations/operation.ts";
import type { OvsdbClient } from "../../ovsdb/session/client.ts";
import { transitToRouter } from "../names.ts";
import { bindings, chassis, encaps, southbound } from "./tables.ts";

/** A node of another zone. */
export interface RemoteNode {
  readonly name: string;
  readonly chassis: string;
  /** Where its end of tunnels is. */
  readonly tunnelAddress: Address;
}

export type SouthboundClient = Pick<OvsdbClient, "rows" | "transact">;

const sb = new Operations(southbound);
const remoteMark = "is-remote";

export class Southbound {
  readonly #client: SouthboundClient;

  constructor(client: SouthboundClient) {
    this.#client = client;
  }

  /** `remotes`: all of them; those that are not among them go. True: something was to be written. */
  async apply(remotes: readonly RemoteNode[], signal?: AbortSignal): Promise<boolean> {
    // Ports refer to chassis by their uuid: one that is made now is referred to in the same transaction.
    const operations = [...this.#leaving(remotes), ...remotes.flatMap((each) => this.#arriving(each))];
    if (operations.length === 0) return false;
    await this.#client.transact(operations, signal === undefined ? {} : { signal });
    return true;
  }

  *#leaving(remotes: readonly RemoteNode[]): Generator<Operation> {
    const wanted = new Set(remotes.map((each) => each.chassis));
    for (const { uuid, name, other_config: words } of this.#client.rows(chassis).list())
      if (words.get(remoteMark) === "true" && !wanted.has(name)) yield sb.delete("Chassis", [["_uuid", "==", uuid]]);
  }

  #arriving(node: RemoteNode): Operation[] {
    const [old] = this.#client.rows(chassis).by("name", node.chassis);
    if (old !== undefined && old.other_config.get(remoteMark) !== "true") return [];
    const ports = this.#client.rows(bindings).by("port", transitToRouter(node.name));
    const place = old?.uuid ?? idOf("c", node);
    return [
      ...this.#reached(node, old?.uuid),
      ...ports
        .filter((port) => old === undefined || port.chassis !== old.uuid)
        .map((port) => sb.update("Port_Binding", [["_uuid", "==", port.uuid]], { chassis: place })),
    ];
  }

  /** Its chassis, with one way to it: where the node has another address than before, the way is another. */
  #reached(node: RemoteNode, old: Uuid | undefined): Operation[] {
    const ip = node.tunnelAddress.toString();
    const { chassis: name } = node;
    const ways = [...this.#client.rows(encaps).list()].filter((each) => each.chassis_name === name);
    if (old !== undefined && ways.some((each) => each.ip === ip)) return [];
    const way = idOf("e", node);
    const encap = { type: "geneve", ip, options: { csum: "true" }, chassis_name: name } as const;
    const row = { name, hostname: node.name, encaps: [way], other_config: { [remoteMark]: "true" } };
    return [
      sb.insert("Encap", encap, way),
      old === undefined
        ? sb.insert("Chassis", row, idOf("c", node))
        : sb.update("Chassis", [["_uuid", "==", old]], { encaps: [way] }),
    ];
  }
}

/** The name of a new row within its transaction: letters and digits alone. */
function idOf(kind: "c" | "e", { chassis: name }: RemoteNode): NamedUuid {
  return { named: `${kind}${Buffer.from(name).toString("hex")}` };
}
