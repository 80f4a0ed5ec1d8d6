// Claims as a backup keeps and restores them: other objects, without owner references: the owners have other UIDs.
import type { AnyObject } from "../../../src/kube/meta.ts";
import { claims } from "../claim-objects.ts";
import type { StoryFixture } from "./fixture.ts";

export async function backUp({ admin, namespace }: StoryFixture): Promise<readonly AnyObject[]> {
  return (await admin.list(claims, { namespace })).items;
}

/** A restore writes the status after the object; where a leader is about, it may find the one without the other. */
export async function bringBack({ admin, namespace }: StoryFixture, backup: readonly AnyObject[]): Promise<void> {
  for (const { metadata, spec, status } of backup) {
    const { name = "", labels = {}, annotations = {}, finalizers = [] } = metadata;
    await admin.create(claims, { metadata: { namespace, name, labels, annotations, finalizers }, spec });
    const patch = { type: "merge", body: { status } } as const;
    await admin.patch(claims, { namespace, name }, patch, { subresource: "status" });
  }
}
