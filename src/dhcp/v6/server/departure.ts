// RELEASE and DECLINE (RFC 8415 sections 18.3.7 and 18.3.8) are recorded and answered. Neither frees an address: a VM's
// binding lives as long as its owner says.
import { statusCode } from "../options/codes.ts";
import { iaOption } from "../options/ia.ts";
import { type RawOptionV6, statusOption } from "../options/option.ts";
import { isOwn } from "./leases.ts";
import type { EffectV6, OutcomeV6 } from "./outcome.ts";
import { aboutClientV6, type QuestionV6 } from "./question.ts";
import { statusReply } from "./reply.ts";

export function recordReleaseV6(question: QuestionV6): OutcomeV6 {
  return answered(question, [{ kind: "released", atMs: question.nowMs, ...aboutClientV6(question) }]);
}

/** Only the client that the address is bound to can decline it: nobody puts the address of another into quarantine. */
export function recordDeclineV6(question: QuestionV6): OutcomeV6 {
  const about = aboutClientV6(question);
  const untilMs = question.nowMs + question.pool.quarantineMs;
  return answered(question, [
    { kind: "quarantined", untilMs, ...about },
    { kind: "conflict", ...about },
  ]);
}

/** Success, whatever it named; each IA without the client's address is told that it is bound to nothing. */
function answered(question: QuestionV6, effects: readonly EffectV6[]): OutcomeV6 {
  const unbound: RawOptionV6[] = [];
  let isNamed = false;
  for (const ia of question.message.ias) {
    if (ia.kind === "addresses" && ia.leases.some((lease) => isOwn(question, lease))) isNamed = true;
    else unbound.push(iaOption(ia, [statusOption(statusCode.noBinding)]));
  }
  return statusReply(question, statusCode.success, unbound, isNamed ? effects : []);
}
