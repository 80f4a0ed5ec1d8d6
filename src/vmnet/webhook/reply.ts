// What the rules found, as an answer to the API server: 422 for what is written wrong, 403 for what nobody may do now.
import type { AdmissionReply } from "../../kube/admission/admission-review.ts";
import { describeIssue, describeIssues, type Issue, type IssueCode, refusalsOf } from "../rules/issue.ts";

const forbidden: ReadonlySet<IssueCode> = new Set(["foreign-namespace", "in-use"]);
/** kubectl shows each; a request with a hundred NICs has no hundred warnings. */
const maxWarnings = 10;

/** `before`: what was wrong with the object already, and is no reason to refuse a change of something else. */
export function replyTo(subject: string, issues: readonly Issue[], before: readonly Issue[] = []): AdmissionReply {
  const refusals = refusalsOf(issues, before);
  if (refusals.length > 0) {
    const isForbidden = refusals.some(({ code }) => forbidden.has(code));
    const message = describeIssues(subject, refusals);
    return { allowed: false, message, code: isForbidden ? 403 : 422, reason: isForbidden ? "Forbidden" : "Invalid" };
  }
  const warnings = issues.slice(0, maxWarnings).map((each) => describeIssue(subject, each));
  return { allowed: true, ...(warnings.length > 0 && { warnings }) };
}
