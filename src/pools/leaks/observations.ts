// What leak collection remembers between two looks: since when each hold is suspected, and where pods were last seen.
// In memory of one leader: its successor begins anew. Invariant: an observation lasts only while every look suspects
// the same version of the hold. A look that failed (the API did not answer) adds and forgets nothing.
import { type PoolHold, heldKey } from "../pool-hold.ts";
import type { Observation, LeakJudgement } from "./judge.ts";

export class Observations {
  /** The hold's object -> since when it has been suspected. */
  #since = new Map<string, Observation>();
  /** The hold's object -> its pod's node, as long as the hold exists. */
  #nodes = new Map<string, string>();

  get suspected(): number {
    return this.#since.size;
  }

  of(held: PoolHold): Observation | undefined {
    return this.#since.get(heldKey(held));
  }

  lastNode(held: PoolHold): string {
    return this.#nodes.get(heldKey(held)) ?? "";
  }

  seenOn(held: PoolHold, node: string): void {
    if (node !== "") this.#nodes.set(heldKey(held), node);
  }

  /** True where the suspicion is new. */
  record(held: PoolHold, { outcome }: LeakJudgement, nowMs: number): boolean {
    const key = heldKey(held);
    if (outcome === "keep") {
      this.#since.delete(key);
      return false;
    }
    const { version } = held.hold;
    if (this.#since.get(key)?.version === version) return false;
    this.#since.set(key, { version, firstMs: nowMs });
    return true;
  }

  /** Time has passed in which nobody looked: what was suspected is suspected anew. */
  restart(): void {
    this.#since.clear();
  }

  retain(existing: ReadonlySet<string>): void {
    this.#since = new Map([...this.#since].filter(([key]) => existing.has(key)));
    this.#nodes = new Map([...this.#nodes].filter(([key]) => existing.has(key)));
  }
}
