// What an answer to an ARP probe of a bound address means. Pure.
import type { Mac } from "../../net/mac.ts";
import type { Quarantined } from "../compile/hold.ts";

export type BindingVerdict =
  /** As it should be: nobody, or the owner itself. */
  | { readonly kind: "fine" }
  /** It was in use when it was asked last, and is no more. */
  | { readonly kind: "over" }
  /** Another host uses it: it is not offered until then. */
  | { readonly kind: "in-use"; readonly mac: Mac; readonly quarantine: Quarantined };

/** Asked again every ten seconds, and lengthened before its end: an agent that dies leaves it for ten minutes. */
const quarantineMs = 600_000;

/** A quarantine that a client's DECLINE began runs to its end: the client saw what we may not see. */
export function judgeBinding(
  binding: { readonly mac: Mac; readonly quarantine: Quarantined | undefined },
  answer: Mac | undefined,
  nowMs: number,
): BindingVerdict {
  const { mac, quarantine } = binding;
  if (answer === undefined || answer === mac) return { kind: quarantine?.by === "probe" ? "over" : "fine" };
  return { kind: "in-use", mac: answer, quarantine: { untilMs: nowMs + quarantineMs, by: "probe" } };
}

/** Whether the word of a quarantine is to be written again: it is new, or half of it is over. */
export function isToBeWritten(before: Quarantined | undefined, nowMs: number): boolean {
  return before === undefined || before.untilMs - nowMs < quarantineMs / 2;
}
