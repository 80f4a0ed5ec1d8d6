// Who the API server takes us for.
import { isApiError } from "../errors.ts";
import type { KubeObject } from "../meta.ts";
import { defineResource } from "../resource.ts";
import type { KubeClient } from "../rest.ts";

interface SelfReview extends KubeObject {
  status?: { userInfo?: { username?: string } };
}

const selfReviews = defineResource<SelfReview>({
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  kind: "SelfSubjectReview",
  namespaced: false,
});

/** Undefined where the server does not say. */
export async function whoAmI(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { status } = await client.create(selfReviews, { metadata: {} }, { signal });
    return status?.userInfo?.username || undefined;
  } catch (error) {
    if (isApiError(error, "not-found", "unsupported")) return undefined;
    throw error;
  }
}
