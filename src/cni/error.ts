// The error object that a failed CNI plugin prints (CNI 1.1.0, section 2 "Errors", section 5 "Error").
//
// `code` is for the runtime, `message` is a whole sentence for people. Nothing in this folder throws anything else.
import type { SpecVersion } from "./version.ts";

/** Below 100 the specification's own; from 100 ours, and a code keeps its meaning for ever. */
export const errorCodes = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  badEnvironment: 4,
  ioFailure: 5,
  badEncoding: 6,
  badConfiguration: 7,
  tryAgainLater: 11,
  notAvailable: 50,
  notAvailableAndLimited: 51,
  /** CHECK: what is held and what the runtime believes differ. */
  checkFailed: 100,
  /** No address could be given: the pool is exhausted, or the one asked for is another's. */
  refused: 101,
} as const;

export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes];

/** One thing that is wrong with what was given. `key` is a path such as `ipam.ipRanges[1].range`. */
export interface Problem {
  readonly key: string;
  /** As it was given; undefined where it is missing. */
  readonly value: unknown;
  /** A sentence that names the key, the value and the remedy. */
  readonly message: string;
}

export class CniError extends Error {
  readonly code: ErrorCode;
  /** Every problem found, in the order of the input; empty where the message says all. */
  readonly problems: readonly Problem[];

  constructor(code: ErrorCode, message: string, options: ErrorOptions & { problems?: readonly Problem[] } = {}) {
    super(message, options);
    this.name = "CniError";
    this.code = code;
    this.problems = options.problems ?? [];
  }
}

/** One error for all problems. `subject` starts its sentence; `unlisted` counts those that `problems` leaves out. */
export function errorOfProblems(
  code: ErrorCode,
  subject: string,
  problems: readonly Problem[],
  unlisted = 0,
): CniError {
  const total = problems.length + unlisted;
  const count = total === 1 ? "one mistake" : `${total} mistakes`;
  const more = unlisted === 0 ? "" : ` (${unlisted} more are not listed.)`;
  const list = problems.map((problem) => problem.message).join(" ") + more;
  return new CniError(code, `${subject} has ${count}: ${list}`, { problems });
}

/** Printed before an exit with a status other than zero. `details`: one line per problem where there are several. */
export function errorObject({ code, message: msg, problems }: CniError, cniVersion: SpecVersion) {
  if (problems.length < 2) return { cniVersion, code, msg };
  return { cniVersion, code, msg, details: problems.map((problem) => problem.message).join("\n") };
}

/** STATUS (CNI 1.1.0, section 2): undefined without obstacles, else code 50, or 51 where running pods suffer too. */
export function statusError(obstacles: readonly string[], isLimited: boolean): CniError | undefined {
  if (obstacles.length === 0) return undefined;
  const code = isLimited ? errorCodes.notAvailableAndLimited : errorCodes.notAvailable;
  return new CniError(code, `no address can be given now: ${obstacles.join(" ")}`);
}
