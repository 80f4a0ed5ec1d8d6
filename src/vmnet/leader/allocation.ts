// Carries out what a plan says of holds: passes, takes and releases, each guarded by the ledger. Promised: a MAC of a
// network is never taken for two network configs at once by this process; what the ledger answers is known here before
// the next plan. A refusal is a sentence, everything else that fails throws and is tried again.
import { acquire } from "../../ipam/acquire.ts";
import type { AmendableLedger, Domain, Hold, HoldNote } from "../../ipam/ledger.ts";
import { describeOwner, ownerKey } from "../../ipam/owner.ts";
import type { Pool } from "../../ipam/pool.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Address } from "../../net/address.ts";
import { CodedError } from "../../net/coded-error.ts";
import type { Random } from "../../net/draw.ts";
import { contains } from "../../net/prefix.ts";
import type { Want } from "../plan/asking.ts";
import type { PassStep } from "../plan/assignment.ts";
import type { TakeStep } from "../plan/config-plan.ts";
import { unkeptNote } from "../plan/keeping.ts";
import { describeNicOwner, type NicHold, type NicOwner } from "../plan/nic-hold.ts";
import type { PoolPlan } from "../rules/pool-plan.ts";
import type { NicHolds } from "./holds/nic-holds.ts";

/** `changed`: another writer was faster; the next look sees it. */
export class AllocationError extends CodedError<"changed"> {}

export interface AllocatorOptions {
  readonly ledger: AmendableLedger;
  readonly holds: NicHolds;
  readonly clock: Clock;
  readonly random: Random;
  /** How long a released address of this hold cools. */
  readonly cooldownMsOf: (hold: NicHold) => number;
}

type Exactly = Extract<Want, { readonly kind: "exactly" }>;
type Any = Extract<Want, { readonly kind: "any" }>;

export class Allocator {
  readonly #options: AllocatorOptions;
  /** `DOMAIN MAC` of takes under way. */
  readonly #taking = new Set<string>();

  constructor(options: AllocatorOptions) {
    this.#options = options;
  }

  async pass({ hold, to }: PassStep, signal: AbortSignal): Promise<void> {
    const note = { ...unkeptNote(hold.note), mac: to.nic, why: `passed on by ${describeNicOwner(hold.owner)}` };
    await this.#amend(hold, { to, note }, signal);
  }

  /** What is noted with it, in place of what was. */
  async note(hold: NicHold, note: HoldNote, signal: AbortSignal): Promise<void> {
    await this.#amend(hold, { note: { ...note, mac: hold.owner.nic } }, signal);
  }

  /** Undefined: it has it now. A sentence: why not. */
  async take(step: TakeStep, signal: AbortSignal): Promise<string | undefined> {
    const { domain, owner, want } = step;
    const key = `${domain} ${owner.nic}`;
    if (this.#taking.has(key)) throw new AllocationError("changed", `${owner.nic} is being given an address already.`);
    // The plan may be older than what another network config was given meanwhile.
    if (this.#options.holds.withMac(domain, owner.nic).some((each) => each.owner.uid !== owner.uid))
      throw new AllocationError("changed", `${owner.nic} has an address of another network config.`);
    this.#taking.add(key);
    try {
      return want.kind === "exactly"
        ? await this.#takeExactly(domain, owner, want, signal)
        : await this.#takeAny(step, want, signal);
    } finally {
      this.#taking.delete(key);
    }
  }

  async release(hold: NicHold, signal: AbortSignal): Promise<boolean> {
    const { ledger, holds, clock, cooldownMsOf } = this.#options;
    const { domain, address, owner, version } = hold;
    const cooldownMs = cooldownMsOf(hold);
    const lastOwner = ownerKey(owner);
    const outcome = await ledger.release({ domain, address, owner: lastOwner, version, cooldownMs }, { signal });
    if (outcome.outcome === "superseded") throw this.#changed(outcome.hold);
    if (outcome.outcome === "released") holds.released(hold, { untilMs: clock.wallMs() + cooldownMs, lastOwner });
    else holds.gone(hold);
    return outcome.outcome === "released";
  }

  async #amend(hold: NicHold, change: { to?: NicOwner; note: HoldNote }, signal: AbortSignal): Promise<void> {
    const { ledger, holds } = this.#options;
    const { domain, address, owner, version } = hold;
    const outcome = await ledger.amend({ domain, address, owner: ownerKey(owner), version, ...change }, { signal });
    if (outcome.outcome === "amended") return holds.learn(outcome.hold);
    if (outcome.outcome === "superseded") throw this.#changed(outcome.hold);
    holds.gone(hold);
    throw new AllocationError("changed", `the hold of ${address} is gone.`);
  }

  async #takeExactly(domain: Domain, owner: NicOwner, want: Exactly, signal: AbortSignal): Promise<string | undefined> {
    const { ledger, holds } = this.#options;
    const { address, pool, early } = want;
    const note = noteOf(pool, owner, "asked for by number, reserved for this MAC, or its own before");
    const outcome = await ledger.take({ domain, address, owner, early, note }, { signal });
    if (outcome.outcome === "cooling") {
      const until = new Date(outcome.untilMs).toISOString();
      return `${address} was released and rests until ${until}: ask again then, or for another.`;
    }
    holds.learn(outcome.hold);
    if (outcome.outcome !== "held") return undefined;
    return `${address} is held by ${whose(outcome.hold)}: release it there, or ask for another.`;
  }

  async #takeAny({ domain, owner, family }: TakeStep, want: Any, signal: AbortSignal): Promise<string | undefined> {
    const { ledger, holds, random } = this.#options;
    const full: string[] = [];
    for (const plan of want.pools) {
      const pool = holds.picture(plan.key, family);
      if (pool === undefined) throw new AllocationError("changed", `ippl ${plan.key} is not ready.`);
      const request = { owner, strategy: { kind: "random" }, lateOnly: true, ...wantOf(pool, want.preferred) } as const;
      const note = () => noteOf(plan, owner, "any free address of the pool, by chance");
      const result = await acquire({ ledger, domain, pool, request, random, note, signal });
      if (result.kind === "acquired") return holds.learn(result.hold) ?? undefined;
      full.push(`ippl ${plan.key}: ${result.message}`);
    }
    return full.join(" ");
  }

  #changed(hold: Hold): AllocationError {
    this.#options.holds.learn(hold);
    return new AllocationError("changed", `the hold of ${hold.address} has changed.`);
  }
}

function wantOf({ definition }: Pool, preferred: Address | undefined) {
  const isHere = preferred !== undefined && contains(definition.prefix, preferred);
  return isHere ? { want: { kind: "preferred", address: preferred } as const } : {};
}

function noteOf({ key }: PoolPlan, { nic }: NicOwner, why: string): HoldNote {
  return { pool: key, mac: nic, why };
}

const whose = ({ owner }: Hold): string => (owner.kind === "nic" ? describeNicOwner(owner) : describeOwner(owner));
