// From a client's message on a network to its outcome (RFC 2131 section 4.3). Changes only the client's token bucket.
import type { Message } from "../message/decode.ts";
import { ethernet, op } from "../message/header.ts";
import { messageType } from "../message/message-type.ts";
import { code } from "../options/codes.ts";
import { type Binding, macKeyOf } from "./binding.ts";
import { recordDecline, recordRelease } from "./departure.ts";
import { answerInform } from "./inform.ts";
import type { Network } from "./network.ts";
import { type Outcome, silence } from "./outcome.ts";
import { canServe } from "./pool.ts";
import type { Question } from "./question.ts";
import { offer } from "./reply.ts";
import { answerRequest } from "./request.ts";

/** Whose message it is; undefined: nobody's. */
export function bindingOf({ chaddr, options }: Message, network: Network): Binding | undefined {
  return network.bindings.find(macKeyOf(chaddr), options.get(code.clientIdentifier));
}

/** `network` is the link that the message came from, `binding` its client's. */
export function decide(
  message: Message,
  network: Network,
  binding: Binding | undefined,
  sourceAddress: number,
  nowMs: number,
): Outcome {
  if (binding === undefined) return silence("unknown-client");
  const pool = network.pool(binding.pool);
  if (pool === undefined || !canServe(pool, binding.address)) return silence("no-pool");
  if (!network.rateLimit.take(macKeyOf(message.chaddr), nowMs)) return silence("rate-limited");
  return answer({ message, network, binding, pool, sourceAddress, nowMs });
}

/** Whether the message is a client's at all, and one that can be answered here. Undefined: it is. */
export function refuse(message: Message, acceptRelays: boolean): Outcome | undefined {
  if (message.op !== op.request) return silence("not-a-request");
  if (message.type === undefined) return silence("bootp");
  if (message.htype !== ethernet.htype || message.chaddr.length !== ethernet.hlen)
    return silence("unsupported-hardware");
  return message.giaddr !== 0 && !acceptRelays ? silence("relay-not-allowed") : undefined;
}

function answer(question: Question): Outcome {
  switch (question.message.type) {
    case messageType.discover:
      return answerDiscover(question);
    case messageType.request:
      return answerRequest(question);
    case messageType.decline:
      return recordDecline(question);
    case messageType.release:
      return recordRelease(question);
    case messageType.inform:
      return answerInform(question);
    case undefined:
    default:
      return silence("unsupported-type");
  }
}

/** The binding's address, whatever is asked for (section 4.3.1). */
function answerDiscover(question: Question): Outcome {
  const { network, binding, nowMs } = question;
  return network.quarantine.has(binding.address, nowMs) ? silence("quarantined") : offer(question);
}
