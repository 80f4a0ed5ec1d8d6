// What several stories of sliced networks do in the same way.
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { Fixture, Guest, Network } from "./fixture.ts";

const events = defineResource<AnyObject>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

/** So many new pods on the node, one after the other; their addresses. */
export async function addMany(fixture: Fixture, network: Network, node: string, count: number): Promise<string[]> {
  const given: string[] = [];
  for (let index = 0; index < count; index++) given.push(...(await fixture.add(await fixture.pod(node), network)));
  return given;
}

export async function added(fixture: Fixture, network: Network, node: string): Promise<Guest> {
  const guest = await fixture.pod(node);
  await fixture.add(guest, network);
  return guest;
}

/** What was said about an object of that name. */
export async function eventsOf(fixture: Fixture, namespace: string, name: string): Promise<string[]> {
  const { items } = await fixture.admin.list(events, { namespace });
  return items
    .map((each) => each as unknown as { involvedObject?: { name?: string }; reason?: string; message?: string })
    .filter(({ involvedObject }) => involvedObject?.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
}
