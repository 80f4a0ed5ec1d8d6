// REQUEST in its four states (RFC 2131 section 4.3.2, table 4): what the client has filled in tells which it is.
import { V4Address } from "../../net/address.ts";
import { macFromBytes } from "../../net/mac.ts";
import type { Message } from "../message/decode.ts";
import { code } from "../options/codes.ts";
import { infiniteSeconds } from "./lease-times.ts";
import { type Effect, type Outcome, silence } from "./outcome.ts";
import { aboutClient, type Question } from "./question.ts";
import { ack, nak } from "./reply.ts";

/** RENEWING is unicast to the server, REBINDING broadcast; they are answered alike. */
export type RequestState = "SELECTING" | "INIT-REBOOT" | "RENEWING or REBINDING";

export function requestStateOf({ options, ciaddr }: Message): RequestState {
  if (options.has(code.serverIdentifier)) return "SELECTING";
  return ciaddr === 0 ? "INIT-REBOOT" : "RENEWING or REBINDING";
}

/**
 * The client is known, so this server answers for its address: a wrong one gets a NAK, on any network. A client that
 * has its address keeps it in quarantine too: a person looks at the conflict, and nothing is gained if both lose it.
 */
export function answerRequest(question: Question): Outcome {
  const { message, binding, network, nowMs } = question;
  const state = requestStateOf(message);
  const server = message.options.uint(code.serverIdentifier, 4);
  if (server !== undefined && !network.isServer(server)) return otherServer(question, server);

  const requested = message.options.uint(code.requestedAddress, 4);
  // In SELECTING ciaddr has to be 0; a client that fills it in nevertheless is asked what it requests.
  const wanted = state === "RENEWING or REBINDING" ? message.ciaddr : (requested ?? message.ciaddr);
  if (wanted !== binding.address) return nak(question, "the address is not this client's");
  if (state === "RENEWING or REBINDING") return ack(question, message.ciaddr, [leased(question)]);

  if (network.quarantine.has(binding.address, nowMs)) return nak(question, "the address is in conflict");
  return ack(question, message.ciaddr === binding.address ? message.ciaddr : 0, [leased(question)]);
}

function leased(question: Question): Effect {
  const { leaseSeconds } = question.pool;
  const untilMs = leaseSeconds === infiniteSeconds ? Infinity : question.nowMs + 1000 * leaseSeconds;
  return { kind: "leased", untilMs, ...aboutClient(question) };
}

/** It declines our offer by that, if it had one (section 3.1, step 4). */
function otherServer({ network, message }: Question, server: number): Outcome {
  const mac = macFromBytes(message.chaddr);
  const effect: Effect = { kind: "foreign-server", network: network.name, server: new V4Address(server), mac };
  return { ...silence("other-server"), effects: [effect] };
}
