// What the API server's refusals mean for a ledger's caller: `outcome-unknown` exactly where a write may have been
// carried out (src/kube/errors.ts), else `unavailable`, with an administrator's remedy where waiting does not help.
import { ObjectError as BadObject } from "../../api/error.ts";
import { LedgerError } from "../../ipam/ledger.ts";
import { ApiError } from "../../kube/errors.ts";

/** Key: the code of the API's error. */
const remedies: Readonly<Partial<Record<ApiError["code"], string>>> = {
  forbidden:
    "Grant the service account get, list, create, update, patch and delete on overlappingrangeipreservations and ippools " +
    "(whereabouts.cni.cncf.io) and holds (holdfast.io) in that namespace: the ClusterRole of the deployment has the rule.",
  unauthorized: "The credential was refused: look at the kubeconfig or the service account's token.",
  invalid: "The definitions in the cluster are others than this version's: apply deploy/crds.",
  "not-found":
    "Either the namespace or the definition of the kind is missing: create the namespace, and apply deploy/crds.",
  "too-many-requests":
    "The API server limits us: apply deploy/crds/flow-control.yaml, which gives Holdfast its own place in the queue.",
};

/** `what` begins the sentence: `taking 10.0.0.7 in network:red`. `mayBeDone`: an earlier step was carried out. */
export function ledgerError(error: unknown, what: string, mayBeDone = false): unknown {
  if (error instanceof LedgerError) {
    if (!mayBeDone || error.code === "outcome-unknown") return error;
    return new LedgerError("outcome-unknown", error.message, { cause: error });
  }
  if (!(error instanceof ApiError) && !(error instanceof BadObject)) return error;
  const isUnknown = mayBeDone || error.code === "outcome-unknown";
  const remedy = error instanceof ApiError ? remedies[error.code] : undefined;
  const words = `${what}: ${error.message}${remedy === undefined ? "" : ` ${remedy}`}`;
  return new LedgerError(isUnknown ? "outcome-unknown" : "unavailable", words, { cause: error });
}

/** A read that found no answer has done nothing, whatever became of it. */
export async function reading<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "outcome-unknown") throw error;
    const { message } = error.cause instanceof Error ? error.cause : error;
    const words = `The API server was asked and did not answer (${message}). Nothing was changed: try again.`;
    throw new LedgerError("unavailable", words, { cause: error });
  }
}
