// The answer about a launcher pod: reads what launcher.ts needs, and nothing where the pod alone tells. Promised: it
// allows every pod. A failed read ends the answer with an error, and the API server goes on without us.
import { takesPart } from "../../api/claims/claim-choice.ts";
import type { VirtualMachineInstance } from "../../api/claims/kubevirt.ts";
import { launchedBy } from "../../api/claims/launcher-pod.ts";
import { networksAnnotation } from "../../cni/selection.ts";
import type { AdmissionReply, AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { AdmissionHandler } from "../../kube/admission/admission.ts";
import * as launcher from "./launcher.ts";
import type { ClaimsView } from "./view.ts";

export type LauncherView = Pick<ClaimsView, "state" | "vm" | "vmi" | "claim" | "definition" | "definitions">;

export function launcherHandler(view: LauncherView): AdmissionHandler {
  return (request, { signal }) => answer(view, request, signal);
}

async function answer(view: LauncherView, request: AdmissionRequest, signal: AbortSignal): Promise<AdmissionReply> {
  const pod = podText(request);
  if (pod === undefined || isUntouched(pod)) return { allowed: true };
  const vmi = await vmiOf(view, request, signal);
  const network = vmi && launcher.primaryToJudge(pod, vmi);
  const nics = vmi === undefined ? [] : launcher.nicsToJudge(pod, vmi);
  if (vmi === undefined || (nics.length === 0 && network === undefined)) {
    return { allowed: true, patch: launcher.networksPatch(pod, launcher.carriedOver(pod)) };
  }
  const primary = network && primaryOf(view, pod.namespace);
  const definitions = await foundOf(
    nics.map(({ element }) => view.definition(element.namespace, element.name, signal)),
    (each) => `${each.namespace}/${each.name}`,
  );
  const vm = vmi.metadata.name ?? "";
  const definitionOf = (key: string) => definitions.get(key)?.persistence ?? "missing";
  const names = [
    ...nics.flatMap(({ element, nic }) =>
      launcher.candidateNames(vm, nic.name, definitionOf(`${element.namespace}/${element.name}`)),
    ),
    ...(network && primary ? launcher.candidateNames(vm, network.name, primary.persistence) : []),
  ];
  const [claims, isWanted] = await Promise.all([
    foundOf(
      [...new Set(names)].map((name) => view.claim(pod.namespace, name, signal)),
      ({ metadata }) => metadata.name ?? "",
    ),
    isWantedFor(view, vmi, pod.namespace, signal),
  ]);
  const claimOf = (name: string) => claims.get(name);
  const { patch, warnings } = launcher.judgeLauncher({ pod, vmi, isWanted, definitionOf, primary, claimOf });
  return { allowed: true, patch, warnings };
}

function podText({ operation, object, oldObject, namespace, subResource }: AdmissionRequest) {
  if ((operation !== "CREATE" && operation !== "UPDATE") || subResource !== undefined) return undefined;
  if (object === undefined || namespace === undefined || object.metadata.deletionTimestamp !== undefined)
    return undefined;
  const { annotations } = object.metadata;
  if (annotations === undefined) return undefined;
  const before = operation === "CREATE" ? undefined : (oldObject?.metadata.annotations ?? {});
  return { namespace, annotations, before } satisfies launcher.LauncherPodText;
}

/** Most updates of a pod are about something else. */
function isUntouched({ annotations, before }: launcher.LauncherPodText): boolean {
  return before !== undefined && annotations[networksAnnotation] === before[networksAnnotation];
}

/** By UID: a VMI of the same name that came after tells nothing about this pod. */
async function vmiOf(view: LauncherView, { object, namespace = "" }: AdmissionRequest, signal: AbortSignal) {
  const launched = object && launchedBy(object.metadata);
  if (launched === undefined || launched.name === "") return undefined;
  const vmi = await view.vmi(namespace, launched.name, signal);
  return vmi?.metadata.uid === launched.uid ? vmi : undefined;
}

/** Key: what `keyOf` says of each that is there. */
async function foundOf<T>(
  asked: readonly Promise<T | undefined>[],
  keyOf: (found: T) => string,
): Promise<ReadonlyMap<string, T>> {
  const found = await Promise.all(asked);
  return new Map(found.flatMap((each) => (each === undefined ? [] : [[keyOf(each), each] as const])));
}

async function isWantedFor(
  view: LauncherView,
  vmi: VirtualMachineInstance,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { gate, needsLabel } = await view.state(signal);
  if (gate !== "on") return false;
  const owner = (vmi.metadata.ownerReferences ?? []).find(({ kind }) => kind === "VirtualMachine");
  const vm = owner && (await view.vm(namespace, owner.name, signal));
  return takesPart(vm, vmi, needsLabel);
}

/** OVN-Kubernetes' own definition of first interfaces, through which addresses of a primary network are asked for. */
const firstDefinition = { name: "default", plugin: '"ovn-k8s-cni-overlay"' } as const;

/** Of several the first by name that allows persistence, as the reconciler chooses: OVN-Kubernetes has one. */
function primaryOf(view: LauncherView, namespace: string): launcher.Primary | undefined {
  const all = view.definitions() ?? [];
  const primaries = all
    .filter((each) => each.namespace === namespace && each.persistence.isPrimary)
    .toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name));
  const own = primaries.find(({ persistence }) => persistence.isAllowed) ?? primaries[0];
  if (own === undefined) return undefined;
  const firsts = all.filter(
    ({ name, config }) => name === firstDefinition.name && config.includes(firstDefinition.plugin),
  );
  const first = firsts.length === 1 ? `${firsts[0]?.namespace}/${firsts[0]?.name}` : undefined;
  return { persistence: own.persistence, config: own.config, first };
}
