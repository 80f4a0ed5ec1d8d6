// Pods: the defaults that clients rely on, the first status, and what of a pod may change.
import { clone, digList, digObject, digString, equal, isObject, type JsonObject } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { type FieldError, fieldError } from "../status.ts";
import { defaultPodSpec, defaultTolerations } from "./pod-defaults.ts";

export function defaultPod(pod: KubeObject): void {
  const { spec } = pod;
  if (!isObject(spec)) return;
  defaultPodSpec(spec);
  spec["enableServiceLinks"] ??= true;
}

/** The status, and what admission adds to the spec of a new pod. */
export function initialisePod(pod: KubeObject): void {
  const { spec } = pod;
  if (isObject(spec)) {
    spec["priority"] ??= 0;
    spec["preemptionPolicy"] ??= "PreemptLowerPriority";
    defaultTolerations(spec);
  }
  pod["status"] = { phase: "Pending", qosClass: qosClass(pod) };
}

function qosClass(pod: KubeObject): string {
  const all = digList(pod, "spec", "containers").map((container) => ({
    limits: digObject(container, "resources", "limits"),
    requests: digObject(container, "resources", "requests"),
  }));
  if (all.every(({ limits, requests }) => Object.keys({ ...limits, ...requests }).length === 0)) return "BestEffort";
  const isGuaranteed = all.every(({ limits, requests }) =>
    ["cpu", "memory"].every((key) => limits[key] !== undefined && equal(requests[key] ?? limits[key], limits[key])),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

/** What is asked of the spec of a pod, and of the one in a template. */
export function validatePodSpec(spec: JsonObject, path: string): FieldError[] {
  const containers = digList(spec, "containers");
  const errors: FieldError[] = containers.length === 0 ? [fieldError.required(`${path}.containers`)] : [];
  const seen = new Set<string>();
  containers.forEach((container, at) => {
    const place = `${path}.containers[${at}]`;
    const name = digString(container, "name") ?? "";
    if (name === "") errors.push(fieldError.required(`${place}.name`));
    else if (seen.has(name)) errors.push(fieldError.duplicate(`${place}.name`, name));
    seen.add(name);
    if ((digString(container, "image") ?? "") === "") errors.push(fieldError.required(`${place}.image`));
  });
  return errors;
}

export function validatePod(pod: KubeObject, before: KubeObject | undefined): FieldError[] {
  const errors = validatePodSpec(digObject(pod, "spec"), "spec");
  if (before !== undefined && !equal(frozenPart(pod), frozenPart(before))) {
    const rule =
      "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    errors.push(fieldError.forbidden("spec", rule));
  }
  return errors;
}

function frozenPart(pod: KubeObject): JsonObject {
  const spec = clone(digObject(pod, "spec"));
  for (const key of ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"])
    delete spec[key];
  for (const field of ["containers", "initContainers"]) {
    for (const container of digList(spec, field).filter(isObject)) delete container["image"];
  }
  return spec;
}
