// ADVERTISE and REPLY (RFC 8415 sections 18.3.9 and 18.3.10), and where they go (section 18.3.11).
import { messageTypeV6 } from "../message/message-type.ts";
import { codeV6, type StatusCode } from "../options/codes.ts";
import { type RawOptionV6, statusOption } from "../options/option.ts";
import { type DestinationV6, type EffectV6, noEffectsV6, type ReplyTypeV6, type ReplyV6 } from "./outcome.ts";
import type { QuestionV6 } from "./question.ts";

export const portV6 = { client: 546, server: 547 } as const;

const types = { ADVERTISE: messageTypeV6.advertise, REPLY: messageTypeV6.reply } as const;

export const rapidCommitOption: RawOptionV6 = { code: codeV6.rapidCommit, data: new Uint8Array(0) };

interface Parts {
  /** Behind the identifiers of client and server. */
  readonly options: readonly RawOptionV6[];
  /** Whether the client gets the parameters that it asks for. */
  readonly withParameters: boolean;
  readonly effects?: readonly EffectV6[];
}

export function replyV6(question: QuestionV6, type: ReplyTypeV6, parts: Parts): ReplyV6 {
  const { message, relays, pool } = question;
  const client = message.options.get(codeV6.clientIdentifier);
  const head = client === undefined ? [] : [{ code: codeV6.clientIdentifier, data: client }];
  return {
    kind: "reply",
    type,
    message: {
      type: types[type],
      transactionId: message.transactionId,
      options: [...head, pool.identity, ...parts.options],
      parameters: parts.withParameters ? pool.parameters.select(message.options.get(codeV6.optionRequest)) : [],
      relays,
    },
    messageBytes: pool.messageBytes,
    destination: destinationOf(question),
    source: pool.linkLocal,
    effects: parts.effects ?? noEffectsV6,
  };
}

/** A REPLY that says how it went, with an IA for each that has to be told something of its own. */
export function statusReply(
  question: QuestionV6,
  status: StatusCode,
  ias: readonly RawOptionV6[] = [],
  effects: readonly EffectV6[] = noEffectsV6,
): ReplyV6 {
  return replyV6(question, "REPLY", { options: [statusOption(status), ...ias], withParameters: false, effects });
}

/** To whoever sent the datagram: the last relay on the way, or the client itself. */
function destinationOf({ relays, sender }: QuestionV6): DestinationV6 {
  const address = sender.sourceAddress;
  if (relays.length > 0) return { kind: "relay", address, port: portV6.server };
  return { kind: "unicast", mac: sender.sourceMac, address, port: portV6.client };
}
