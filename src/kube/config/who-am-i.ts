// Who the API server takes us for.
import type { KubeObject } from "../meta.ts";
import { defineResource } from "../resource.ts";
import type { KubeClient } from "../rest.ts";
import { unless } from "../unless.ts";

interface SelfReview extends KubeObject {
  status?: { userInfo?: { username?: string } };
}

const place = { group: "authentication.k8s.io", version: "v1", namespaced: false };
const selfReviews = defineResource<SelfReview>({ ...place, kind: "SelfSubjectReview" });

/** Undefined where the server does not say. */
export async function whoAmI(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const create = client.create(selfReviews, { metadata: {} }, { signal });
  return (await unless(["not-found", "unsupported"], create))?.status?.userInfo?.username || undefined;
}
