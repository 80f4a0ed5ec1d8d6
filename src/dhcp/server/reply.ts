// The replies of a server as in table 3 of RFC 2131 section 4.3.1, with the client identifier of RFC 6842.
import type { Message } from "../message/decode.ts";
import { datagramBytesMin, type Outgoing } from "../message/encode.ts";
import { broadcastFlag, op } from "../message/header.ts";
import { messageType } from "../message/message-type.ts";
import type { RawOption } from "../message/placement.ts";
import { asciiBytes } from "../options/bytes.ts";
import { code } from "../options/codes.ts";
import { destinationOf, nakDestinationOf } from "./destination.ts";
import { type Effect, noEffects, type Reply } from "./outcome.ts";
import { selectOptions } from "./parameters.ts";
import type { Pool } from "./pool.ts";
import type { Question } from "./question.ts";

const typeOption = (type: number): RawOption => ({ code: code.messageType, data: Uint8Array.of(type) });
const offerOption = typeOption(messageType.offer);
const ackOption = typeOption(messageType.ack);
const nakOption = typeOption(messageType.nak);

/** An OFFER of the binding's address. */
export function offer(question: Question): Reply {
  const { message, binding, pool } = question;
  const options = parametersOf(question, offerOption, pool, pool.lease);
  const outgoing = outgoingOf(message, pool, 0, binding.address, options);
  return replyOf("OFFER", outgoing, message, pool, noEffects);
}

/** An ACK of a lease. `ciaddr` is the client's own where it has the address already, else 0. */
export function ack(question: Question, ciaddr: number, effects: readonly Effect[]): Reply {
  const { message, binding, pool } = question;
  const options = parametersOf(question, ackOption, pool, pool.lease);
  return replyOf("ACK", outgoingOf(message, pool, ciaddr, binding.address, options), message, pool, effects);
}

/** An ACK of an INFORM: parameters without an address and without a lease (section 4.3.5). */
export function ackInform(question: Question, pool: Pool, address: number): Reply {
  const { message } = question;
  const options = parametersOf(question, ackOption, pool, [pool.subnetMask]);
  const reply = replyOf("ACK", outgoingOf(message, pool, message.ciaddr, 0, options), message, pool, noEffects);
  return { ...reply, destination: destinationOf({ ...message, ciaddr: address }, 0) };
}

/** `why` is for people who read a trace or the client's log. */
export function nak({ message, pool }: Question, why: string): Reply {
  const options = [nakOption, pool.identity, { code: code.message, data: asciiBytes(why)! }];
  addClientIdentifier(options, message);
  return {
    kind: "reply",
    type: "NAK",
    message: {
      op: op.reply,
      htype: message.htype,
      hops: 0,
      xid: message.xid,
      secs: 0,
      // The relay has to broadcast it (section 4.3.2).
      flags: message.giaddr === 0 ? message.flags & broadcastFlag : broadcastFlag,
      ciaddr: 0,
      yiaddr: 0,
      siaddr: 0,
      giaddr: message.giaddr,
      chaddr: message.chaddr,
      file: undefined,
      sname: undefined,
      mayOverload: false,
      options,
      relayAgent: message.options.get(code.relayAgent),
    },
    datagramBytes: datagramBytesOf(message, pool),
    destination: nakDestinationOf(message),
    source: pool.serverIdentifier,
    effects: noEffects,
  };
}

/** Message type, server and client identifier, lease and mask come first: they are mandatory. Requested ones follow. */
function parametersOf(
  { message, binding }: Question,
  type: RawOption,
  pool: Pool,
  fixed: readonly RawOption[],
): readonly RawOption[] {
  const head = [type, pool.identity];
  for (let i = 0; i < fixed.length; i++) head.push(fixed[i]!);
  addClientIdentifier(head, message);
  return selectOptions(head, pool.parameters, binding.parameters, message.options.get(code.parameterRequestList));
}

/** As the client sent it, all of it (RFC 6842 section 3). */
function addClientIdentifier(options: RawOption[], message: Message): void {
  const data = message.options.get(code.clientIdentifier);
  if (data !== undefined && data.length > 0) options.push({ code: code.clientIdentifier, data });
}

function outgoingOf(
  message: Message,
  pool: Pool,
  ciaddr: number,
  yiaddr: number,
  options: readonly RawOption[],
): Outgoing {
  return {
    op: op.reply,
    htype: message.htype,
    hops: 0,
    xid: message.xid,
    secs: 0,
    flags: message.flags & broadcastFlag,
    ciaddr,
    yiaddr,
    siaddr: pool.nextServer,
    giaddr: message.giaddr,
    chaddr: message.chaddr,
    file: pool.file,
    sname: pool.sname,
    mayOverload: true,
    options,
    relayAgent: message.options.get(code.relayAgent),
  };
}

function replyOf(
  type: "OFFER" | "ACK",
  outgoing: Outgoing,
  message: Message,
  pool: Pool,
  effects: readonly Effect[],
): Reply {
  return {
    kind: "reply",
    type,
    message: outgoing,
    datagramBytes: datagramBytesOf(message, pool),
    destination: destinationOf(outgoing, outgoing.yiaddr),
    source: pool.serverIdentifier,
    effects,
  };
}

function datagramBytesOf(message: Message, pool: Pool): number {
  return Math.min(message.options.uint(code.messageSizeMax, 2) ?? datagramBytesMin, pool.datagramBytesMax);
}
