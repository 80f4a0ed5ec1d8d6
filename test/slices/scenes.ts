// What several stories of sliced networks do in the same way.
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { Fleet, Guest, Network } from "./fleet.ts";

const events = defineResource<AnyObject>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

/** So many new pods on the node, one after the other; their addresses. */
export async function addMany(fleet: Fleet, network: Network, node: string, count: number): Promise<string[]> {
  const given: string[] = [];
  for (let index = 0; index < count; index++) given.push(...(await fleet.add(await fleet.pod(node), network)));
  return given;
}

export async function added(fleet: Fleet, network: Network, node: string): Promise<Guest> {
  const guest = await fleet.pod(node);
  await fleet.add(guest, network);
  return guest;
}

/** What was said about an object of that name. */
export async function eventsOf(fleet: Fleet, namespace: string, name: string): Promise<string[]> {
  const { items } = await fleet.admin.list(events, { namespace });
  return items
    .map((each) => each as unknown as { involvedObject?: { name?: string }; reason?: string; message?: string })
    .filter(({ involvedObject }) => involvedObject?.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
}
