// Counts of what came and what became of it. Every key is of a closed set, so that no sender can make it grow.
import type { FaultCode } from "../../fault.ts";
import { type MessageTypeNameV6, messageTypeNameV6 } from "../message/message-type.ts";
import type { OutcomeV6, ReplyTypeV6, SilenceReasonV6 } from "./outcome.ts";

export class TallyV6 {
  /** By the type of the client's message, whether it came through relays or not. */
  readonly received = new Map<MessageTypeNameV6 | "other", number>();
  readonly replies = new Map<ReplyTypeV6, number>();
  readonly silences = new Map<SilenceReasonV6, number>();
  readonly faults = new Map<FaultCode, number>();

  /** `type` is undefined where there was no message. */
  count(type: number | undefined, outcome: OutcomeV6): void {
    increment(this.received, (type === undefined ? undefined : messageTypeNameV6(type)) ?? "other");
    if (outcome.kind === "reply") return increment(this.replies, outcome.type);
    increment(this.silences, outcome.reason);
    if (outcome.fault !== undefined) increment(this.faults, outcome.fault.code);
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
