// Writes of a move to the ledger, each with its way back; and what every write of a move needs.
import { ensurePool } from "../../cluster/pool-object.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import {
  describeDomain,
  type AmendableLedger,
  type AmendRequest,
  type Hold,
  type HoldNote,
  type HoldUser,
} from "../../ipam/ledger.ts";
import { describeOwner, ownerKey } from "../../ipam/owner.ts";
import type { Clock } from "../../kube/clock.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Address } from "../../net/address.ts";
import type { LedgerPlace } from "../leader/ledger-place.ts";
import { claimOwner, type Move } from "./move.ts";

export interface PerformOptions {
  readonly client: KubeClient;
  /** Of the namespace of the objects. */
  readonly ledgerOf: (namespace: string) => AmendableLedger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** "changed": somebody wrote meanwhile, look and plan again. "refused": it will not be otherwise in a moment. */
export class Stopped extends Error {
  readonly outcome: "changed" | "refused";

  constructor(outcome: "changed" | "refused", why: string) {
    super(why);
    this.outcome = outcome;
  }
}

export interface Done {
  readonly hold: Hold;
  undo(): Promise<unknown>;
}

/** A hold that goes from one owner to another in guarded steps, and back in one. */
export class Passing implements Done {
  readonly #ledger: AmendableLedger;
  readonly #part: number;
  readonly #before: Hold;
  #hold: Hold;

  constructor({ held, part }: Move["pass"][number], { ledgerOf }: PerformOptions) {
    this.#ledger = ledgerOf(held.namespace);
    this.#part = part;
    this.#before = held.hold;
    this.#hold = held.hold;
  }

  get hold(): Hold {
    return this.#hold;
  }

  /** Whose it is to be, before it is: from then on a leader keeps it for that owner. */
  note({ note }: Move, signal: AbortSignal): Promise<void> {
    return this.#change({ note: this.#noted(note) }, signal);
  }

  pass({ note, users }: Move, claim: StoredClaim, signal: AbortSignal): Promise<void> {
    const to = claimOwner(claim, this.#part);
    return this.#change({ to, note: this.#noted(note), users: joined(this.#hold.users, users) }, signal);
  }

  async undo(): Promise<void> {
    const { owner, users = [], note = {}, version } = this.#before;
    if (this.#hold.version === version) return;
    await this.#amend({ to: owner, users, note });
  }

  #noted(note: HoldNote): HoldNote {
    const { pool, mac } = this.#before.note ?? {};
    return { ...note, ...(pool !== undefined && { pool }), ...(mac !== undefined && { mac }) };
  }

  async #change(change: Change, signal: AbortSignal): Promise<void> {
    const result = await this.#amend(change, signal);
    if (result.outcome !== "amended") throw new Stopped("changed", `the hold of ${this.#hold.address} has changed`);
    this.#hold = result.hold;
  }

  #amend(change: Change, signal?: AbortSignal) {
    const { domain, address, owner, version } = this.#hold;
    const request = { domain, address, owner: ownerKey(owner), version, ...change };
    return this.#ledger.amend(request, signal === undefined ? {} : { signal });
  }
}

type Change = Pick<AmendRequest, "to" | "note" | "users">;

function joined(some: readonly HoldUser[] = [], more: readonly HoldUser[]): HoldUser[] {
  return [...some, ...more.filter(({ uid }) => !some.some((each) => each.uid === uid))];
}

export async function take(
  { note, users }: Move,
  claim: StoredClaim,
  { place, address }: Move["take"][number],
  options: PerformOptions,
): Promise<Done> {
  const { ledgerOf, signal } = options;
  const { domain, pool } = await poolFor(place, address, options);
  const ledger = ledgerOf(place.namespace);
  const owner = claimOwner(claim, place.part);
  const request = { domain, address, owner, note: { ...note, pool }, users, early: true };
  const result = await ledger.take(request, { signal });
  if (result.outcome === "held") {
    throw new Stopped(
      "refused",
      `${address} is held for ${describeOwner(result.hold.owner)} meanwhile: one address cannot be two owners'`,
    );
  }
  if (result.outcome === "cooling") throw new Stopped("changed", `${address} was just released`);
  const { hold, outcome } = result;
  const release = { domain, address, owner: ownerKey(owner), version: hold.version, cooldownMs: 0 };
  return { hold, undo: async () => (outcome === "taken" ? ledger.release(release) : undefined) };
}

/** What whereabouts has written into a pool that nobody has adopted yet is in no hold: it would not be seen. */
async function poolFor(place: LedgerPlace, address: Address, { client, signal }: PerformOptions) {
  const { namespace, identity, naming, l3, domain } = place;
  const found = await ensurePool(client, { namespace, identity, naming, l3, domain, signal });
  const pool = `${found.namespace}/${found.name}`;
  if (found.domain !== undefined && found.domain !== domain) {
    throw new Stopped("changed", `IPPool ${pool} is handed out in ${describeDomain(found.domain)} now`);
  }
  const entries = [found.object, ...found.others].some(({ spec }) => Object.keys(spec.allocations).length > 0);
  if (!found.adopted && entries) {
    throw new Stopped(
      "refused",
      `IPPool ${pool} is not adopted yet, so ${address} may be somebody's: start \`holdfast controller\` and wait until it is`,
    );
  }
  return { domain, pool };
}
