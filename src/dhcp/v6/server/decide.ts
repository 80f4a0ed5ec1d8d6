// From a client's message on a network to its outcome (RFC 8415 section 18.3). Changes only the client's token bucket.
import { macKeyOf } from "../../server/binding.ts";
import { infiniteSeconds } from "../../server/lease-times.ts";
import type { Envelope } from "../message/decode.ts";
import { messageTypeV6 } from "../message/message-type.ts";
import { codeV6, statusCode } from "../options/codes.ts";
import type { BindingV6 } from "./binding.ts";
import { macOfClient, type Sender } from "./client.ts";
import { answerConfirm } from "./confirm.ts";
import { recordDeclineV6, recordReleaseV6 } from "./departure.ts";
import { type Leases, newLeases, ownIa, renewedLeases } from "./leases.ts";
import type { NetworkV6 } from "./network.ts";
import { type EffectV6, noEffectsV6, type OutcomeV6, silenceV6 } from "./outcome.ts";
import { canServeV6 } from "./pool.ts";
import { aboutClientV6, isQuarantined, type QuestionV6 } from "./question.ts";
import { rapidCommitOption, replyV6, statusReply } from "./reply.ts";

/** Whose message it is; undefined: nobody's. */
export function bindingOfV6(envelope: Envelope, network: NetworkV6, sender: Sender): BindingV6 | undefined {
  const mac = macOfClient(envelope, sender);
  return mac === undefined ? undefined : network.bindings.find(macKeyOf(mac));
}

/** `network` is the link that the message came from, `binding` its client's. */
export function decideV6(
  envelope: Envelope,
  network: NetworkV6,
  binding: BindingV6 | undefined,
  sender: Sender & { readonly isUnicast: boolean },
  nowMs: number,
): OutcomeV6 {
  const { message, relays } = envelope;
  if (binding === undefined) return silenceV6("unknown-client");
  const pool = network.pool(binding.pool);
  if (pool === undefined || !canServeV6(pool, binding)) return silenceV6("no-pool");
  if (!network.rateLimit.take(binding.macKey, nowMs)) return silenceV6("rate-limited");
  const { isUnicast } = sender;
  const question: QuestionV6 = { message, relays, sender, isUnicast, network, binding, pool, nowMs };
  const server = message.options.get(codeV6.serverIdentifier);
  if (server !== undefined && !network.isServer(server)) return otherServer(question, server);
  return isUnicast ? statusReply(question, statusCode.useMulticast) : answer(question);
}

function answer(question: QuestionV6): OutcomeV6 {
  switch (question.message.type) {
    case messageTypeV6.solicit:
      return answerSolicit(question);
    case messageTypeV6.request:
      return leaseReply(question, newLeases(question, { refuseOffLink: true }));
    case messageTypeV6.confirm:
      return answerConfirm(question);
    case messageTypeV6.renew:
      return leaseReply(question, renewedLeases(question, { isRebind: false }));
    case messageTypeV6.rebind:
      return leaseReply(question, renewedLeases(question, { isRebind: true }));
    case messageTypeV6.release:
      return recordReleaseV6(question);
    case messageTypeV6.decline:
      return recordDeclineV6(question);
    case messageTypeV6.informationRequest:
      return replyV6(question, "REPLY", { options: [], withParameters: true });
    default:
      return silenceV6("unsupported-type");
  }
}

/** An ADVERTISE, or the lease at once where client and pool both say so (section 18.3.1). */
function answerSolicit(question: QuestionV6): OutcomeV6 {
  const { message, pool } = question;
  if (ownIa(question) !== undefined && isQuarantined(question)) return silenceV6("quarantined");
  const leases = newLeases(question, { refuseOffLink: false });
  if (pool.rapidCommit && leases.isGranted && message.options.has(codeV6.rapidCommit)) {
    return leaseReply(question, { ...leases, options: [rapidCommitOption, ...leases.options] });
  }
  const preference = pool.preference === undefined ? [] : [pool.preference];
  return replyV6(question, "ADVERTISE", { options: [...preference, ...leases.options], withParameters: true });
}

function leaseReply(question: QuestionV6, { options, isGranted }: Leases): OutcomeV6 {
  const effects = isGranted ? [leased(question)] : noEffectsV6;
  return replyV6(question, "REPLY", { options, withParameters: true, effects });
}

function leased(question: QuestionV6): EffectV6 {
  const { leaseSeconds } = question.pool;
  const untilMs = leaseSeconds === infiniteSeconds ? Infinity : question.nowMs + 1000 * leaseSeconds;
  return { kind: "leased", untilMs, ...aboutClientV6(question) };
}

/** Only by REQUEST and RENEW a client takes an address from the server that it names. */
function otherServer({ network, message, binding }: QuestionV6, duid: Uint8Array): OutcomeV6 {
  const isTaker = message.type === messageTypeV6.request || message.type === messageTypeV6.renew;
  if (!isTaker) return silenceV6("other-server");
  const server = Buffer.from(duid).toString("hex");
  const effect: EffectV6 = { kind: "foreign-server", network: network.name, server, mac: binding.mac };
  return { ...silenceV6("other-server"), effects: [effect] };
}
