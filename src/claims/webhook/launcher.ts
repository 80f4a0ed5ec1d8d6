// What a launcher pod is given before it is stored: each NIC's claim. Pure; launcher-handler.ts reads. Promised: a
// reference stays; of an existing pod only new elements get one, the others are attached as they are. References that
// KubeVirt drops with its list at a plug or unplug come back. A NIC that cannot be judged keeps no other from its own.
import { homeOf } from "../../api/claims/claim-family.ts";
import { primaryClaimAnnotation, claimName, ownershipOf, swappedClaimName } from "../../api/claims/claim-marks.ts";
import { nicOf, type VirtualMachineInstance, type VmNetwork, type NicElement } from "../../api/claims/kubevirt.ts";
import { isClaimOf } from "../../api/claims/vm-owner.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import { referenceKey } from "../../cni/claim-references.ts";
import type { Persistence } from "../../cni/config/persistence.ts";
import { isObject, type JsonObject, textOf } from "../../cni/json.ts";
import { defaultNetworkAnnotation, networksAnnotation } from "../../cni/selection.ts";
import { parseKey } from "../../kube/meta.ts";
import { type JsonPatchOperation, pointer } from "../../kube/patch.ts";
import { firstSelection, podNetworkOf } from "./primary.ts";

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

/** Index of an element -> the claim that it referred to before: the pod alone tells. */
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
  // A writer of this annotation asks for something of his own.
  if ((pod.annotations[defaultNetworkAnnotation] ?? "") !== "") return { patch, warnings: [] };
  const { text, why } = firstSelection({ vmi, network, claim: reference.claim, config, first });
  return { patch: text === undefined ? patch : [...patch, write(defaultNetworkAnnotation, text)], warnings: [why] };
}

/** A launcher pod always has annotations: KubeVirt writes the name of its VMI there. */
function write(annotation: string, value: string): JsonPatchOperation {
  return { op: "add", path: pointer("metadata", "annotations", annotation), value };
}

interface NicFacts {
  readonly vmi: VirtualMachineInstance;
  readonly nic: VmNetwork;
  readonly definition: Persistence | "missing";
  readonly isWanted: boolean;
  readonly claimOf: (name: string) => StoredClaim | undefined;
}

interface Reference {
  readonly claim?: string;
  /** In a sentence why there is none although one is to be expected; empty otherwise. */
  readonly why: string;
}

const nothing: Reference = { why: "" };

/** Every name under which the claim may be: what `referenceOf` asks for. */
export function candidateNames(vm: string, nic: string, definition: Persistence | "missing"): readonly string[] {
  const plain = claimName(vm, nic);
  return definition === "missing" || definition.network === ""
    ? [plain]
    : [plain, swappedClaimName(vm, nic, definition.network)];
}

/** Never another owner's: a CNI that reads only this would give out its address. This NIC's stays, gate or not. */
function referenceOf({ vmi, nic, definition, isWanted, claimOf }: NicFacts): Reference {
  const vm = vmi.metadata.name ?? "";
  const names = candidateNames(vm, nic.name, definition);
  const own = (name: string) => {
    const claim = claimOf(name);
    return claim !== undefined && isOfNic(claim, vmi, nic.name) ? claim : undefined;
  };
  const fitting = names.find((name) => {
    const claim = own(name);
    return claim !== undefined && (definition === "missing" || claim.spec.network === definition.network);
  });
  if (definition !== "missing" && isWanted && definition.isAllowed) {
    if (fitting !== undefined) return { claim: fitting, why: "" };
    const passes = (claim: StoredClaim) => isOfNic(claim, vmi, nic.name) || isOfOther(claim, vmi);
    return toBeMade(names, claimOf, passes);
  }
  if (fitting !== undefined && (claimOf(fitting)?.status?.ips ?? []).length > 0) return { claim: fitting, why: "" };
  if (definition === "missing" && isWanted) {
    return { why: `network ${nic.name}: there is no definition ${nic.multus?.networkName ?? ""}` };
  }
  return nothing;
}

/** The reconciler's name for it: the plain one, unless the NIC's claim of another network, or another VM, has it. */
function toBeMade(
  names: readonly string[],
  claimOf: (name: string) => StoredClaim | undefined,
  passes: (claim: StoredClaim) => boolean,
): Reference {
  const [plain = "", swapped = ""] = names;
  const first = claimOf(plain);
  const name = first !== undefined && passes(first) ? swapped : plain;
  if (claimOf(name) === undefined) return { claim: name, why: "" };
  return { why: `IPAMClaim ${name} belongs to another: it is not referred to, and the pod waits for its own` };
}

/** It is a VM's of another name, and stays where it is. */
function isOfOther(claim: StoredClaim, { metadata }: VirtualMachineInstance): boolean {
  return parseKey(homeOf(claim)).name !== metadata.name;
}

function isOfNic(claim: StoredClaim, vmi: VirtualMachineInstance, nic: string): boolean {
  if (!isClaimOf(claim, vmi)) return false;
  const ownership = ownershipOf(claim);
  // Without a record the name says it, and by its name it was found.
  return ownership.kind === "owned" && (ownership.nic === undefined || ownership.nic === nic);
}

interface LauncherElement extends NicElement {
  readonly index: number;
  readonly value: JsonObject;
  readonly claim: string;
}

/** More is a mistake and left alone (an annotation has 256 KiB at most, an element some 100 bytes): the ADD reports. */
const maxElements = 100;

/** `namespace` is the pod's. */
function launcherElements(text: string | undefined, namespace: string): readonly LauncherElement[] {
  const list = listOf(text);
  if (list.length > maxElements) return [];
  return list.flatMap((value, index) => {
    if (!isObject(value)) return [];
    const name = textOf(value["name"]);
    if (name === "") return [];
    return [
      {
        index,
        value,
        name,
        namespace: textOf(value["namespace"]) || namespace,
        interfaceName: textOf(value["interface"]) || `net${index + 1}`,
        claim: textOf(value[referenceKey]),
      },
    ];
  });
}

/** The same text with the references written; `claims`: index of the element -> name of the claim. */
function withReferences(text: string | undefined, claims: ReadonlyMap<number, string>): string {
  const list = listOf(text).map((value, index) => {
    const claim = claims.get(index);
    return claim === undefined || !isObject(value) ? value : { ...value, [referenceKey]: claim };
  });
  return JSON.stringify(list);
}

/** One object stands for a list of one, as the standard has it. Anything else has no elements. */
function listOf(text: string | undefined): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return Array.isArray(value) ? value : isObject(value) ? [value] : [];
  } catch {
    return [];
  }
}
