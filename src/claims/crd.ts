// The CustomResourceDefinition of IPAMClaim, the multi-network standard's: created where there is none. Promised: it
// replaces only ours (holdfast.io/crd-revision) of an earlier revision with the same versions. Any other may be newer
// than ours, and a replacement would drop fields of every claim.
import { ipamClaimKind } from "../api/claims/ipam-claim.ts";
import { definitionOf } from "../api/definition.ts";
import { holdfastGroup } from "../api/kind.ts";
import type { KubeObject } from "../kube/meta.ts";
import { defineResource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import { anew } from "../kube/unless.ts";

export const crdRevisionAnnotation = `${holdfastGroup}/crd-revision`;
/** Rises with every change of what src/api/claims/ipam-claim.ts says: v0.5.1 of the standard's definition is 1. */
const revision = 1;

export interface ClaimDefinition extends KubeObject {
  spec: { group: string; versions: { name: string }[] };
}

export const definitions = defineResource<ClaimDefinition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

export function claimDefinition(): ClaimDefinition {
  const { apiVersion, kind, metadata, spec } = definitionOf(ipamClaimKind);
  const annotations = { [crdRevisionAnnotation]: String(revision) };
  return { apiVersion, kind, metadata: { ...metadata, annotations }, spec: spec as ClaimDefinition["spec"] };
}

export type DefinitionStep = { readonly kind: "create" } | { readonly kind: "replace" | "keep"; readonly why: string };

export function definitionStep(there: ClaimDefinition | undefined, ours: ClaimDefinition): DefinitionStep {
  if (there === undefined) return { kind: "create" };
  const theirs = revisionOf(there);
  if (theirs === undefined) return { kind: "keep", why: "it is not ours, and may be newer than what we know" };
  if (there.spec.group !== ours.spec.group || versionsOf(there) !== versionsOf(ours)) {
    return { kind: "keep", why: `it has the versions ${versionsOf(there)}, and ours has ${versionsOf(ours)}` };
  }
  const own = revisionOf(ours) ?? 0;
  if (theirs === own) return { kind: "keep", why: `it is ours already, revision ${own}` };
  if (theirs > own) return { kind: "keep", why: `it is ours of the later revision ${theirs}; this program has ${own}` };
  return { kind: "replace", why: `it is ours of the earlier revision ${theirs}; this program has ${own}` };
}

function revisionOf({ metadata }: ClaimDefinition): number | undefined {
  const text = metadata.annotations?.[crdRevisionAnnotation] ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function versionsOf({ spec }: ClaimDefinition): string {
  const names = spec.versions.map(({ name }) => name);
  return names.sort().join(", ");
}

/** Another installer at the same time is met once or twice at most. */
const maxRounds = 5;

/** Puts ours where there is none; the result is what was done. The server serves the kind some moments later. */
export async function installClaimDefinition({
  client,
  dryRun,
  signal,
}: {
  readonly client: KubeClient;
  /** Decide and say it, and write nothing. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}): Promise<DefinitionStep> {
  const ours = claimDefinition();
  // Another installer was faster, or the answer was lost: the present definition decides.
  return anew(maxRounds, ["already-exists", "conflict", "not-found", "outcome-unknown"], async () => {
    const there = await client.lookUp(definitions, { name: ours.metadata.name ?? "" }, { signal });
    const step = definitionStep(there, ours);
    if (step.kind === "keep" || dryRun) return step;
    if (there === undefined) await client.create(definitions, ours, { signal });
    else await client.update(definitions, replacing(there, ours), { signal });
    return step;
  });
}

/** At the version that was judged, with all that others have written on it. */
function replacing(there: ClaimDefinition, ours: ClaimDefinition): ClaimDefinition {
  const annotations = { ...there.metadata.annotations, ...ours.metadata.annotations };
  return { ...there, metadata: { ...there.metadata, annotations }, spec: ours.spec };
}

export function describeStep(step: DefinitionStep, dryRun: boolean): string {
  const done = step.kind === "keep" ? "left as it is" : `${dryRun ? "would be " : ""}${step.kind}d`;
  const why = step.kind === "create" ? "" : `: ${step.why}`;
  return `CustomResourceDefinition ${claimDefinition().metadata.name}: ${done}${why}.`;
}
