// Claims as a user sees them.
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";

export const claims = defineResource<AnyObject>({
  group: "k8s.cni.cncf.io",
  version: "v1alpha1",
  plural: "ipamclaims",
  kind: "IPAMClaim",
  namespaced: true,
});
