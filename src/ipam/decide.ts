// The decision: a pool's state and a request in, an address or a reasoned refusal out. Pure: the same pool, request and
// random numbers give the same answer. Only writing the hold (ledger.ts) takes the address.
import { type Address, equal } from "../net/address.ts";
import type { Random } from "../net/draw.ts";
import { formatInterval } from "../net/interval.ts";
import { describeOwner, type Owner } from "./owner.ts";
import type { Pool } from "./pool.ts";
import type { Candidate, Decision, Grant, Refusal, RefusalCode, Request, Strategy, Want } from "./request.ts";
import { firstOffer, offerAfter, type Offering } from "./strategy.ts";
import { formatTime, traceListed, tracePassedOver } from "./trace.ts";

const lowest: Strategy = { kind: "lowest" };
const any: Want = { kind: "any" };

export function decide(pool: Pool, request: Request, random: Random): Decision {
  const want = request.want ?? any;
  const has = pool.addressOf(request.owner);
  if (has !== undefined) return alreadyHas(pool, request, want, has);
  switch (want.kind) {
    case "given":
      return whyNot(pool, want.address, request.owner) ?? grant(want.address, "given");
    case "oneOf":
      return decideListed(pool, want.addresses, request.owner);
    case "preferred":
    case "any":
      return decideAny(pool, request, want, random);
  }
}

/** The same owner gets the same address, whatever has been excluded since; asking for another one is refused. */
function alreadyHas(pool: Pool, { owner }: Request, want: Want, address: Address): Decision {
  const asked = want.kind === "given" ? [want.address] : want.kind === "oneOf" ? want.addresses : [address];
  if (asked.some((each) => equal(each, address))) return grant(address, "yours");
  const wished = asked.length === 1 ? `${asked[0]}` : `one of ${asked.length} others`;
  return refuse(
    "owner-has-another",
    `${describeOwner(owner)} has ${address} in ${pool.definition.prefix} and asks for ${wished}: release ${address} first.`,
    () => traceListed(pool, [address]),
  );
}

function decideListed(pool: Pool, addresses: readonly Address[], owner: Owner): Decision {
  const index = addresses.findIndex((address) => whyNot(pool, address, owner) === undefined);
  if (index < 0) {
    const only = addresses.length === 1 ? whyNot(pool, addresses[0]!, owner) : undefined;
    return (
      only ??
      refuse(
        "exhausted",
        `none of the ${addresses.length} listed addresses is free in ${pool.definition.prefix}: free one of them, or list more.`,
        (limit) => traceListed(pool, addresses, limit),
      )
    );
  }
  const address = addresses[index]!;
  const further = function* () {
    const offered = new Set([String(address)]);
    for (const each of addresses.slice(index + 1)) {
      if (offered.has(String(each)) || whyNot(pool, each, owner) !== undefined) continue;
      offered.add(String(each));
      yield { address: each, early: false };
    }
  };
  const trace = (limit?: number) => traceListed(pool, addresses.slice(0, index), limit);
  return grant(address, "listed", { further, trace });
}

function decideAny(pool: Pool, request: Request, want: Want, random: Random): Decision {
  const { owner, strategy = lowest } = request;
  const offering = { pool, owner, strategy, random };
  const preferred = want.kind === "preferred" ? want.address : undefined;
  const mayBeEarly = request.lateOnly !== true;
  const first = firstCandidate(offering, preferred, mayBeEarly);
  if (first === undefined) return exhausted(pool);
  const { address, early, why } = first;
  const trace = (limit?: number) => [
    ...(preferred === undefined || why === "preferred" ? [] : traceListed(pool, [preferred])),
    ...tracePassedOver(pool, address, choiceOf(why, strategy), limit),
  ];
  const further = () => furtherCandidates(offering, address, mayBeEarly);
  return grant(address, why, { early, further, trace });
}

/** The preferred one, else this owner's last, else a free one by the strategy, else the one that cooled longest. */
function firstCandidate(
  offering: Offering,
  preferred: Address | undefined,
  mayBeEarly: boolean,
): Pick<Grant, "address" | "early" | "why"> | undefined {
  const { pool, owner, strategy } = offering;
  if (preferred !== undefined && whyNot(pool, preferred, owner) === undefined) {
    return { address: preferred, early: false, why: "preferred" };
  }
  const earlier = pool.returningTo(owner);
  if (earlier !== undefined) return { address: earlier, early: false, why: "returning" };
  const free = firstOffer(offering);
  if (free !== undefined) return { address: free, early: false, why: strategy.kind };
  if (!mayBeEarly) return undefined;
  for (const { address } of pool.coolingInOrder()) return { address, early: true, why: strategy.kind };
  return undefined;
}

/** The same order again without what was offered; a preferred one that was not to be had stays out. */
function* furtherCandidates(offering: Offering, first: Address, mayBeEarly: boolean): IterableIterator<Candidate> {
  const { pool } = offering;
  const earlier = pool.returningTo(offering.owner);
  const returns = earlier !== undefined && !equal(earlier, first);
  if (returns) yield { address: earlier, early: false };
  for (const address of offerAfter(first, offering)) yield { address, early: false };
  if (!mayBeEarly) return;
  for (const { address } of pool.coolingInOrder()) {
    if (!equal(address, first) && !(returns && equal(address, earlier))) yield { address, early: true };
  }
}

function choiceOf(why: Grant["why"], strategy: Strategy): string {
  if (why === "preferred") return "another was preferred";
  if (why === "returning") return "this owner gets back what it had last";
  if (strategy.kind !== "spread" || strategy.stripes <= 1) return `the strategy is ${strategy.kind}`;
  return "many take at once, and each in stripes of its own";
}

/** Why this owner cannot have this address now; undefined: it can. A cooling address's last owner may come back. */
function whyNot(pool: Pool, address: Address, owner: Owner): Refusal | undefined {
  const state = pool.stateOf(address);
  const where = pool.definition.prefix;
  const no = (code: RefusalCode, message: string) =>
    refuse(code, message, (limit) => traceListed(pool, [address], limit));
  switch (state.state) {
    case "free":
      return undefined;
    case "excluded":
      return no("excluded", `${address} is excluded from ${where}: take it out of the excludes, or ask for another.`);
    case "reserved":
      return no("reserved", `${address} is reserved in ${where} (${state.reason}): ask for another.`);
    case "allocated": {
      const holder = describeOwner(state.owner);
      return no("held-by-another", `${address} is held by ${holder}: release it there, or ask for another.`);
    }
    case "quarantined": {
      if (pool.returnsTo(address, owner)) return undefined;
      const until = formatTime(state.untilMs);
      return no(
        "cooling-down",
        `${address} was released and cools down until ${until}: try again then, or ask for another.`,
      );
    }
    case "outside": {
      const usable = formatInterval(pool.usable);
      return no(
        "not-in-range",
        `${address} is not among the usable addresses of ${where}, ${usable}: ask for one of those.`,
      );
    }
  }
}

function exhausted(pool: Pool): Refusal {
  const { usable, allocated, withheld, quarantined } = pool.counts();
  const resting = quarantined > 0 ? `, ${quarantined} at rest after a release` : "";
  return refuse(
    "exhausted",
    `${pool.definition.prefix} has no free address: of ${usable} usable, ${allocated} held, ${withheld} excluded or reserved${resting}. ` +
      "Release some, widen the range, or exclude less.",
    (limit) => tracePassedOver(pool, undefined, "", limit),
  );
}

function grant(
  address: Address,
  why: Grant["why"],
  rest: Partial<Pick<Grant, "early" | "further" | "trace">> = {},
): Grant {
  return { kind: "grant", address, early: false, why, further: () => [], trace: () => [], ...rest };
}

function refuse(code: RefusalCode, message: string, trace: Refusal["trace"]): Refusal {
  return { kind: "refusal", code, message, trace };
}
