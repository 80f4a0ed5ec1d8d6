// CONFIRM (RFC 8415 section 18.3.3): may the client go on with its addresses, after its link was away?
//
// An address is appropriate where it agrees with the server's knowledge of addresses assigned (section 4.2), so that
// the answer is NotOnLink for one of this link too that is not the client's: it asks again, and gets the right one.
import { statusCode } from "../options/codes.ts";
import { isOwn } from "./leases.ts";
import { type OutcomeV6, silenceV6 } from "./outcome.ts";
import { isQuarantined, type QuestionV6 } from "./question.ts";
import { statusReply } from "./reply.ts";

export function answerConfirm(question: QuestionV6): OutcomeV6 {
  const leases = question.message.ias.flatMap((ia) => (ia.kind === "prefixes" ? [] : ia.leases));
  if (leases.length === 0) return silenceV6("nothing-to-confirm");
  const isRight = leases.every((lease) => isOwn(question, lease)) && !isQuarantined(question);
  return statusReply(question, isRight ? statusCode.success : statusCode.notOnLink);
}
