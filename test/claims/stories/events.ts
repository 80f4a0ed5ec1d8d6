// What was said to users about a story's objects.
import type { KubeObject } from "../../../src/kube/meta.ts";
import { defineResource } from "../../../src/kube/resource.ts";
import type { StoryFixture } from "./fixture.ts";

interface Event extends KubeObject {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

const events = defineResource<Event>({ group: "", version: "v1", plural: "events", kind: "Event", namespaced: true });

/** `KIND NAME REASON` of each. */
export async function eventsOf({ admin, namespace }: StoryFixture): Promise<string[]> {
  const { items } = await admin.list(events, { namespace });
  return items.map(({ involvedObject: { kind, name }, reason }) => `${kind} ${name} ${reason}`);
}
