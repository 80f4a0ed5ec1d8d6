// A failure of API server, ledger or disk, as a runtime is told it: try again later (code 11), with what and why.
import { ObjectError as BadObject } from "../../api/error.ts";
import { CniError, errorCodes, errorObject } from "../../cni/error.ts";
import type { Reply } from "../../cni/protocol/frame.ts";
import type { SpecVersion } from "../../cni/version.ts";
import { DefinitionError } from "../../ipam/definition.ts";
import { LedgerError } from "../../ipam/ledger.ts";
import { asError } from "../../kube/abort.ts";
import { isApiError } from "../../kube/errors.ts";
import { JournalError } from "../../ledger/journal/error.ts";
import { UncertainTake } from "../add/take.ts";

/** Any thrown value, as the error of the specification. A bug keeps its words, and is worth trying again. */
export function failureOf(error: unknown): CniError {
  if (error instanceof CniError) return error;
  if (error instanceof DefinitionError)
    return new CniError(errorCodes.badConfiguration, error.message, { cause: error });
  if (error instanceof BadObject) return new CniError(errorCodes.refused, error.message, { cause: error });
  if (isApiError(error, "forbidden", "unauthorized")) {
    const remedy = "give the daemon's service account the rights of deploy/, and try again";
    return later(`the API server refuses the daemon: ${trimmed(error)}; ${remedy}.`, error);
  }
  if (isApiError(error)) return later(`the API server did not do it: ${error.message}`, error);
  if (error instanceof UncertainTake) return failureOf(error.cause);
  if (error instanceof LedgerError) return later(error.message, error);
  if (error instanceof JournalError) return new CniError(errorCodes.ioFailure, error.message, { cause: error });
  return later(`the daemon failed: ${trimmed(error)}; see its log.`, error);
}

export function later(message: string, cause?: unknown): CniError {
  return new CniError(errorCodes.tryAgainLater, message, cause === undefined ? {} : { cause });
}

export function errorReply(error: CniError, version: SpecVersion): Reply {
  return { exitStatus: 1, stdout: jsonLine(errorObject(error, version)) };
}

export const jsonLine = (value: object) => new TextEncoder().encode(`${JSON.stringify(value)}\n`);

/** For the middle of a sentence. */
export function trimmed(error: unknown): string {
  return asError(error).message.replace(/\.$/, "");
}
