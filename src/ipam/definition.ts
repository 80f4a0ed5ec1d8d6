// What a pool is made of, and which of its addresses can be handed out at all.
import { type Address, compare, next, previous } from "../net/address.ts";
import { CodedError } from "../net/coded-error.ts";
import { formatInterval, includes, type Interval } from "../net/interval.ts";
import { contains, type Prefix } from "../net/prefix.ts";

export interface Reservation {
  readonly interval: Interval;
  /** For people: "gateway", "router VIP". */
  readonly reason: string;
}

export interface PoolDefinition {
  readonly prefix: Prefix;
  /** The lowest and the highest address to hand out; the ends of the usable addresses where not given. */
  readonly start?: Address;
  readonly end?: Address;
  /** What to do where start or end is not usable. whereabouts ignores it silently (`ignore`). Default: refuse. */
  readonly outside?: "refuse" | "ignore";
  /** Never handed out; may overlap, nest, and reach outside the prefix. */
  readonly excludes?: readonly Interval[];
  readonly reservations?: readonly Reservation[];
  /** Reserved where it is inside the prefix. Leave out to allow handing it out, as whereabouts does. */
  readonly gateway?: Address;
  /** `enable_l3`: no broadcast domain, so the first and the last address of the prefix are addresses like any other. */
  readonly l3?: boolean;
  /** How long a released address cools before another owner gets it. Default 30 s; 0 is whereabouts' behaviour. */
  readonly cooldownMs?: number;
}

const defaultCooldownMs = 30_000;

export type DefinitionErrorCode = "start-outside" | "end-outside" | "backwards" | "gateway-outside" | "bad-cooldown";

export class DefinitionError extends CodedError<DefinitionErrorCode> {}

/** All between the ends that may be handed out, before excludes and reservations. */
export function usableOf(definition: PoolDefinition): Interval {
  const whole = hostsOf(definition);
  const lenient = definition.outside === "ignore";
  const { start, end } = definition;
  const startFits = start !== undefined && includes(whole, start);
  if (start !== undefined && !startFits && !lenient) {
    throw new DefinitionError("start-outside", outsideMessage("start", start, definition, whole));
  }
  const first = startFits ? start : whole.first;
  // whereabouts also ignores an end below the start that is in effect.
  const endFits = end !== undefined && includes(whole, end) && (!lenient || compare(first, end) <= 0);
  if (end !== undefined && !endFits && !lenient) {
    throw new DefinitionError("end-outside", outsideMessage("end", end, definition, whole));
  }
  const last = endFits ? end : whole.last;
  if (compare(first, last) > 0) {
    throw new DefinitionError(
      "backwards",
      `the pool ${definition.prefix} starts at ${first} and ends at ${last}, below it: swap them.`,
    );
  }
  return { first, last };
}

/** What the definition reserves, the gateway included. */
export function reservationsOf(definition: PoolDefinition): Reservation[] {
  const { gateway, prefix, reservations = [] } = definition;
  if (gateway === undefined) return [...reservations];
  if (!contains(prefix, gateway)) {
    throw new DefinitionError(
      "gateway-outside",
      `the gateway ${gateway} is outside ${prefix}: nothing in the pool could reach it. Give one inside, or none.`,
    );
  }
  return [...reservations, { interval: { first: gateway, last: gateway }, reason: "gateway" }];
}

export function cooldownOf({ cooldownMs = defaultCooldownMs, prefix }: PoolDefinition): number {
  if (Number.isFinite(cooldownMs) && cooldownMs >= 0) return cooldownMs;
  throw new DefinitionError(
    "bad-cooldown",
    `the pool ${prefix} has a cooldown of ${cooldownMs} ms: give 0 or a positive number.`,
  );
}

/** Of /31, /32, /127 and /128 every address is one like any other (RFC 3021, RFC 6164). */
function hostsOf({ prefix: { first, last, hostBits }, l3 = false }: PoolDefinition): Interval {
  return l3 || hostBits < 2 ? { first, last } : { first: next(first)!, last: previous(last)! };
}

function outsideMessage(which: "start" | "end", address: Address, { prefix }: PoolDefinition, whole: Interval): string {
  return `the ${which} ${address} of the pool ${prefix} is none of its usable addresses, ${formatInterval(whole)}: give one of those.`;
}
