// What a launcher pod is given before it is stored: for each NIC the name of its claim. Pure; launcher-handler.ts reads what it needs.
//
// Promised: an element that has a reference keeps it; of a pod that is there already only elements that are new to it get one, since the
// others are attached as they are. KubeVirt writes the whole list anew when it plugs or unplugs a NIC, without our references: those come
// back. One NIC that cannot be judged never keeps the others from theirs.
import { primaryClaimAnnotation } from "../../api/claim-marks.ts";
import { nicOf, type VirtualMachineInstance, type VmNetwork } from "../../api/kubevirt.ts";
import type { Persistence } from "../../cni/persistence.ts";
import { type JsonPatchOperation, pointer } from "../../kube/patch.ts";
import type { StoredClaim } from "../../ledger/resources.ts";
import { type LauncherElement, launcherElements, withReferences } from "./elements.ts";
import { firstSelection, podNetworkOf } from "./primary.ts";
import { type Reference, referenceOf } from "./reference.ts";

export const networksAnnotation = "k8s.v1.cni.cncf.io/networks";
const firstNetworkAnnotation = "v1.multus-cni.io/default-network";

type Annotations = Readonly<Record<string, string>>;

export interface LauncherPodText {
  readonly namespace: string;
  readonly annotations: Annotations;
  /** Those that it had; undefined: it is being created. */
  readonly before: Annotations | undefined;
}

export interface Primary {
  readonly persistence: Persistence;
  readonly config: string;
  /** namespace/name of OVN-Kubernetes' definition of first interfaces, where there is one. */
  readonly first: string | undefined;
}

export interface LauncherFacts {
  readonly pod: LauncherPodText;
  readonly vmi: VirtualMachineInstance;
  /** New claims are made for this VM: gate and label. */
  readonly isWanted: boolean;
  /** By namespace/name. */
  readonly definitionOf: (key: string) => Persistence | "missing";
  readonly primary: Primary | undefined;
  readonly claimOf: (name: string) => StoredClaim | undefined;
}

export interface LauncherChange {
  readonly patch: readonly JsonPatchOperation[];
  readonly warnings: readonly string[];
}

/** Elements that are to be judged, each with its NIC. */
export function nicsToJudge(
  { namespace, annotations, before }: LauncherPodText,
  vmi: VirtualMachineInstance,
): readonly { readonly element: LauncherElement; readonly nic: VmNetwork }[] {
  const elements = launcherElements(annotations[networksAnnotation], namespace);
  const known = launcherElements(before?.[networksAnnotation], namespace);
  return elements.flatMap((element) => {
    if (element.claim !== "" || earlier(element, known) !== undefined) return [];
    const nic = nicOf(element.interfaceName, elements, namespace, vmi.spec ?? {});
    return nic?.multus === undefined || nic.multus.default === true ? [] : [{ element, nic }];
  });
}

/** The network whose claim stands in an annotation of its own; undefined: nothing is to be judged. */
export function primaryToJudge({ annotations, before }: LauncherPodText, vmi: VirtualMachineInstance) {
  if (before !== undefined || (annotations[primaryClaimAnnotation] ?? "") !== "") return undefined;
  return podNetworkOf(vmi);
}

/** What needs no look at anything but the pod: undefined where more is to be known. */
export function carriedOver(pod: LauncherPodText): ReadonlyMap<number, string> {
  const known = launcherElements(pod.before?.[networksAnnotation], pod.namespace);
  const elements = launcherElements(pod.annotations[networksAnnotation], pod.namespace);
  return new Map(
    elements.flatMap((element) => {
      const claim = element.claim === "" ? (earlier(element, known)?.claim ?? "") : "";
      return claim === "" ? [] : [[element.index, claim] as const];
    }),
  );
}

export function judgeLauncher(facts: LauncherFacts): LauncherChange {
  const { pod, vmi, definitionOf } = facts;
  const claims = new Map(carriedOver(pod));
  const judged = nicsToJudge(pod, vmi).map(({ element, nic }) => {
    const definition = definitionOf(`${element.namespace}/${element.name}`);
    return { element, reference: referenceOf({ ...facts, nic, definition }) };
  });
  for (const { element, reference } of judged) if (reference.claim) claims.set(element.index, reference.claim);
  const first = judgePrimary(facts);
  return {
    patch: [...networksPatch(pod, claims), ...first.patch],
    warnings: [...judged.map(({ reference }) => reference.why), ...first.warnings].filter((why) => why !== ""),
  };
}

/** The same interface of the same network, as it stood before. */
function earlier(element: LauncherElement, known: readonly LauncherElement[]): LauncherElement | undefined {
  return known.find(
    ({ interfaceName, namespace, name }) =>
      interfaceName === element.interfaceName && namespace === element.namespace && name === element.name,
  );
}

export function networksPatch(pod: LauncherPodText, claims: ReadonlyMap<number, string>): JsonPatchOperation[] {
  if (claims.size === 0) return [];
  return [write(networksAnnotation, withReferences(pod.annotations[networksAnnotation], claims))];
}

function judgePrimary({ pod, vmi, primary, isWanted, claimOf }: LauncherFacts): LauncherChange {
  const network = primaryToJudge(pod, vmi);
  if (network === undefined || primary === undefined) return { patch: [], warnings: [] };
  const { persistence, config, first } = primary;
  const reference: Reference = referenceOf({ vmi, nic: network, definition: persistence, isWanted, claimOf });
  if (reference.claim === undefined) return { patch: [], warnings: [reference.why] };
  const patch = [write(primaryClaimAnnotation, reference.claim)];
  // Who has written it already asks for something of his own.
  if ((pod.annotations[firstNetworkAnnotation] ?? "") !== "") return { patch, warnings: [] };
  const { text, why } = firstSelection({ vmi, network, claim: reference.claim, config, first });
  return { patch: text === undefined ? patch : [...patch, write(firstNetworkAnnotation, text)], warnings: [why] };
}

/** A launcher pod always has annotations: KubeVirt writes the name of its VMI there. */
function write(annotation: string, value: string): JsonPatchOperation {
  return { op: "add", path: pointer("metadata", "annotations", annotation), value };
}
