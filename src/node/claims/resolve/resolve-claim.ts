// The claim of one interface of one pod, as ADD and CHECK ask for it.
import { CniError, errorCodes } from "../../../cni/error.ts";
import type { AttachmentInvocation } from "../../../cni/invocation.ts";
import { isApiError } from "../../../kube/errors.ts";
import type { DaemonContext } from "../../context.ts";
import type { LoadedConfig } from "../../request/configurations.ts";
import type { PodFacts } from "../../request/pods.ts";
import { tellClaim } from "../hold/add.ts";
import { ClaimRefusal, type ClaimUse } from "./claim-binding.ts";
import { wishOf } from "./claim-query.ts";

/** Without a claim the pod holds its addresses itself. `mayWait`: false for CHECK, which only wants to know. */
export async function claimOf(
  parts: DaemonContext,
  { interfaceName, args }: AttachmentInvocation,
  { config, persistence }: LoadedConfig,
  known: PodFacts | undefined,
  { signal, mayWait }: { readonly signal: AbortSignal; readonly mayWait: boolean },
): Promise<{ readonly pod: PodFacts | undefined; readonly claim: ClaimUse | undefined }> {
  let pod = known;
  let wish = wishOf(pod, interfaceName, persistence);
  // The informer may not have a NIC yet that was plugged into a running pod a moment ago.
  if (pod !== undefined && persistence.isAllowed && wish?.selection === undefined) {
    const query = { namespace: pod.namespace, name: pod.name, uid: args.podUid, isFresh: true };
    pod = (await parts.findPod(query, signal)) ?? pod;
    wish = wishOf(pod, interfaceName, persistence);
  }
  if (wish === undefined) return { pod, claim: undefined };
  try {
    // The leader says whether claims are made at all.
    await parts.readiness.assertKnown(signal);
    return { pod, claim: await parts.claims.find(wish, { signal, mayWait }) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CniError) {
      const reason = error.code === errorCodes.tryAgainLater ? "WaitingForClaim" : "AddressRefused";
      if (mayWait) parts.tell(wish.pod.object, "Warning", reason, `${interfaceName}: ${error.message}`);
      if (mayWait && error instanceof ClaimRefusal && error.claim !== undefined)
        tellClaim(parts, error.claim, wish.pod.name, error);
      throw error;
    }
    // Where nobody was promised more, addresses of this node's slices need no API server, and no right to read VMs.
    const isNeedless = parts.sliced.isWhole(config) || isApiError(error, "forbidden");
    if (persistence.isAllowed || wish.reference !== undefined || !isNeedless) throw error;
    const about = { pod: `${wish.pod.namespace}/${wish.pod.name}`, error };
    parts.log.warn("the VM cannot be asked for; its pod gets an address without a claim", about);
    return { pod, claim: undefined };
  }
}
