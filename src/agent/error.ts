// What the agent refuses: a target or a relay that cannot be read, a state file that cannot be used. Bad objects are
// findings, no errors: they stop nobody else.
import { CodedError } from "../net/coded-error.ts";

export type AgentErrorCode = "bad-target" | "bad-relay" | "bad-state";

/** `message` is a whole sentence: what was given, what is wrong with it, what to do. */
export class AgentError extends CodedError<AgentErrorCode> {}
