// Reads what a plan is made of. A kind that the server does not have is a kind of which there is nothing.
import { poolNamespaceOf } from "../../cluster/coexistence-word.ts";
import { holds, ipPools, networkAttachmentDefinitions, nodeSlicePools, reservations } from "../../cluster/resources.ts";
import { fetchState } from "../../cluster/state.ts";
import type { KubeObject } from "../../kube/meta.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import { type Survey, surveyOf } from "./survey.ts";

export async function readSurvey(client: KubeClient, systemNamespace: string, signal: AbortSignal): Promise<Survey> {
  // One after the other: a page of a thousand pools is large, and nothing here is in a hurry.
  const state = await fetchState(client, { namespace: systemNamespace, signal });
  return surveyOf({
    systemNamespace: poolNamespaceOf(state, systemNamespace),
    pools: await everything(client, ipPools, signal),
    reservations: await everything(client, reservations, signal),
    holds: await everything(client, holds, signal),
    definitions: await everything(client, networkAttachmentDefinitions, signal),
    slices: await everything(client, nodeSlicePools, signal),
  });
}

export async function everything<T extends KubeObject>(client: KubeClient, of: Resource<T>, signal: AbortSignal) {
  return (await unless(["not-found"], client.list(of, { signal })))?.items ?? [];
}
