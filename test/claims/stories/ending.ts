// The end of a story: nobody is alive any more, and nothing may be left.
import type { AnyObject } from "../../../src/kube/meta.ts";
import type { KubeClient } from "../../../src/kube/rest.ts";
import { until } from "../../lab/wait.ts";
import { claims } from "../claim-objects.ts";
import { remove } from "../kubevirt/edit.ts";
import { heldAddresses } from "./state.ts";

/** A start that waits for a claim is answered 11 after 25 s and tried again; a busy machine takes ten times longer. */
export const patienceMs = 90_000;

/** Their users take them away themselves. */
export async function removeHandMade(client: KubeClient, namespaces: readonly string[]): Promise<void> {
  for (const { metadata } of await claimsIn(client, namespaces)) {
    const { name = "", namespace = "", annotations = {} } = metadata;
    if (annotations["holdfast.io/claim-owner"] === undefined) await remove(client, claims, { namespace, name });
  }
}

/** What is still there when everybody had the time to notice; in sentences. */
export async function leftWhenFree(client: KubeClient, namespaces: readonly string[]): Promise<string[]> {
  const remains = async () => {
    const left = (await claimsIn(client, namespaces)).map(({ metadata }) => `claim ${metadata.name}`);
    return [...left, ...(await heldAddresses(client))];
  };
  const isEmpty = async () => (await remains()).length === 0;
  return until(isEmpty, { what: "everything to be free", timeoutMs: patienceMs, everyMs: 20 }).then(
    () => [],
    async () => (await remains()).map((each) => `left when nobody is alive: ${each}`),
  );
}

async function claimsIn(client: KubeClient, namespaces: readonly string[]): Promise<AnyObject[]> {
  const { items } = await client.list(claims);
  return items.filter(({ metadata }) => namespaces.includes(metadata.namespace ?? ""));
}
