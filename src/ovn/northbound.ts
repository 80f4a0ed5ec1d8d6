// One zone's northbound database: what it is like, brought to what is desired, in one transaction at a time.
//
// Promised: all of a difference is written or nothing of it; a reply that is lost makes no row twice. When `apply` has
// come back the cache has what was written, and nothing more was to be written. Not promised: that it stays so.
import { isOvsdbError } from "../ovsdb/error.ts";
import { type Operation, Operations } from "../ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../ovsdb/schema/ovn-northbound.ts";
import type { OvsdbClient } from "../ovsdb/session/client.ts";
import type { Desired } from "./desired.ts";
import { OvnError } from "./error.ts";
import { ownedBy, ownersIn } from "./plan/owned.ts";
import { plan, type Plan } from "./plan/plan.ts";
import { View } from "./plan/view.ts";
import type { VmName } from "./rows/marks.ts";
import { global, portGroups, tables } from "./rows/tables.ts";
import { type OvnVersion, parseVersion } from "./zone/features.ts";

/** What the client of a northbound database has to follow. */
export const northboundTables = [...Object.values(tables), portGroups, global];
/** The same where only ports of pods are written: a node's daemon has no use for the rest. */
export const portTables = [tables.Logical_Switch, tables.Logical_Switch_Port, global];

export type NorthboundClient = Pick<OvsdbClient, "rows" | "transact" | "until" | "status">;

export interface Applied extends Pick<Plan, "inserted" | "updated" | "deleted" | "conflicts"> {
  /** Transactions that were sent, those that others came before included; 0: all was as desired. */
  readonly transactions: number;
}

/** How far a barrier waits: the southbound database, or every chassis. */
export type Depth = "sb" | "hv";

/** Lost replies and others' writes in between, in a row. */
const maxTries = 8;
const nb = new Operations(ovnNorthbound);
/** There is one, always. */
const everyRow = [["nb_cfg", ">=", 0]] as const;

export class Northbound {
  readonly #client: NorthboundClient;
  readonly #view: View;
  /** Ends when the last `apply` that was asked for has: they go one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(client: NorthboundClient) {
    this.#client = client;
    this.#view = new View(client);
  }

  /** OVN's, as ovn-northd has told it; undefined before that. */
  get version(): OvnVersion | undefined {
    const [row] = this.#client.rows(global).list();
    return parseVersion(row?.options.get("northd_internal_version"));
  }

  /** Those of which there is any row, of our making or OVN-Kubernetes'. */
  vms(): readonly VmName[] {
    return ownersIn(this.#view);
  }

  /** The transaction that would be sent. */
  plan(desired: Desired): Plan {
    return plan(this.#view, desired.wanted, ownedBy(this.#view, desired));
  }

  async apply(desired: Desired, signal: AbortSignal): Promise<Applied> {
    const mine = this.#turn.then(() => this.#apply(desired, signal));
    this.#turn = mine.catch(() => undefined);
    return await mine;
  }

  /** Waits until ovn-northd, or every chassis too, has taken in what is in the database now. */
  async barrier(depth: Depth, signal: AbortSignal): Promise<void> {
    const operations: Operation[] = [
      nb.mutate("NB_Global", everyRow, [["nb_cfg", "+=", 1]]),
      nb.select("NB_Global", everyRow, ["nb_cfg"]),
    ];
    const [, selected] = await this.#client.transact(operations, { signal });
    const [row] = (selected?.rows ?? []) as { nb_cfg?: unknown }[];
    const target = Number(row?.nb_cfg);
    const column = depth === "sb" ? "sb_cfg" : "hv_cfg";
    await this.#client.until(() => {
      const [now] = this.#client.rows(global).list();
      return now !== undefined && now[column] >= target ? true : undefined;
    }, signal);
  }

  async #apply(desired: Desired, signal: AbortSignal): Promise<Applied> {
    const total = { inserted: 0, updated: 0, deleted: 0 };
    for (let transactions = 0; ; transactions++) {
      signal.throwIfAborted();
      const { operations, conflicts, ...counts } = this.plan(desired);
      if (operations.length === 0) return { ...total, conflicts, transactions };
      if (transactions === maxTries) {
        const words = `After ${maxTries} transactions ${operations.length} operations are still to be done: others write`;
        throw new OvnError("contended", `${words} the same rows. Stop them, or look at which rows change.`);
      }
      try {
        await this.#client.transact(operations, { signal });
        for (const each of ["inserted", "updated", "deleted"] as const) total[each] += counts[each];
      } catch (error) {
        if (!isOvsdbError(error, "wait-timed-out", "duplicate-uuid", "outcome-unknown")) throw error;
        // The cache is behind, or a lost reply stands for it: it tells by its next change, or by a new connection.
        await this.#readBack(signal);
      }
    }
  }

  /** The reply of a read comes over a connection whose cache has all that was written before it. */
  async #readBack(signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return void (await this.#client.transact([nb.select("NB_Global", everyRow, ["nb_cfg"])], { signal }));
      } catch (error) {
        if (!isOvsdbError(error, "outcome-unknown") || tries === maxTries || signal.aborted) throw error;
      }
    }
  }
}
