// INFORM (RFC 2131 section 4.3.5): a client that has an address by other means asks for parameters alone.
import { type Outcome, silence } from "./outcome.ts";
import { isInSubnet } from "./pool.ts";
import type { Question } from "./question.ts";
import { ackInform } from "./reply.ts";

/** Needs no lease, but a bound client and an address of this network. Some clients leave ciaddr empty. */
export function answerInform(question: Question): Outcome {
  const { message, network, sourceAddress } = question;
  const address = message.ciaddr === 0 ? sourceAddress : message.ciaddr;
  const pool = isInSubnet(question.pool, address) ? question.pool : network.poolAround(address);
  return pool === undefined ? silence("wrong-network") : ackInform(question, pool, address);
}
