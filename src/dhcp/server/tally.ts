// Counts of what came and what became of it. Every key is of a closed set, so that no sender can make it grow.
import type { FaultCode } from "../fault.ts";
import { type MessageTypeName, messageTypeName } from "../message/message-type.ts";
import type { Outcome, ReplyType, SilenceReason } from "./outcome.ts";

export class Tally {
  readonly received = new Map<MessageTypeName | "other", number>();
  readonly replies = new Map<ReplyType, number>();
  readonly silences = new Map<SilenceReason, number>();
  readonly faults = new Map<FaultCode, number>();

  /** `type` is undefined where there was no message, or none of DHCP. */
  count(type: number | undefined, outcome: Outcome): void {
    increment(this.received, (type === undefined ? undefined : messageTypeName(type)) ?? "other");
    if (outcome.kind === "reply") return increment(this.replies, outcome.type);
    increment(this.silences, outcome.reason);
    if (outcome.fault !== undefined) increment(this.faults, outcome.fault.code);
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
