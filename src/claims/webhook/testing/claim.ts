// Claims in few words: what stories about them are told with.
import { claimNicAnnotation, claimOwnerAnnotation } from "../../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import type { AdmissionReply } from "../../../kube/admission/admission-review.ts";

export type Metadata = StoredClaim["metadata"];
export const claim = (metadata: Partial<Metadata> = {}, network = "blue-net"): StoredClaim => ({
  metadata: { namespace: "t", name: "vm1.a", ...metadata },
  spec: { network, interface: "" },
});
export const owned = (more: Partial<Metadata> = {}) =>
  claim({ annotations: { [claimOwnerAnnotation]: "vm", [claimNicAnnotation]: "a" }, ...more });
/** `allowed`, or the refusal's words. */
export const words = (reply: AdmissionReply) => (reply.allowed ? "allowed" : reply.message);
