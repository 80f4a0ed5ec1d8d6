// Pods: the defaults that clients rely on, the first status, and what of a pod may change.
import { type JsonObject, clone, digList, digObject, digString, equal, isObject } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { type FieldError, fieldError } from "../status.ts";

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

const objects = (value: JsonObject, ...path: string[]) => digList(value, ...path).filter(isObject);

/** Also of the spec in a template. */
export function defaultPodSpec(spec: JsonObject): void {
  spec["restartPolicy"] ??= "Always";
  spec["dnsPolicy"] ??= "ClusterFirst";
  spec["schedulerName"] ??= "default-scheduler";
  spec["terminationGracePeriodSeconds"] ??= 30;
  spec["securityContext"] ??= {};
  for (const field of ["containers", "initContainers"]) {
    for (const container of objects(spec, field)) defaultContainer(container);
  }
  for (const volume of objects(spec, "volumes")) defaultVolume(volume);
}

function defaultContainer(container: JsonObject): void {
  const image = typeof container["image"] === "string" ? container["image"] : "";
  const isLatest = !image.includes("@") && (image.endsWith(":latest") || !/:[^/]*$/.test(image));
  container["imagePullPolicy"] ??= isLatest ? "Always" : "IfNotPresent";
  const resources = isObject(container["resources"]) ? container["resources"] : {};
  container["resources"] = resources;
  // A limit without a request is the request.
  const requests = { ...digObject(resources, "limits"), ...digObject(resources, "requests") };
  if (Object.keys(requests).length > 0) resources["requests"] = requests;
  container["terminationMessagePath"] ??= "/dev/termination-log";
  container["terminationMessagePolicy"] ??= "File";
  for (const port of objects(container, "ports")) port["protocol"] ??= "TCP";
  for (const variable of objects(container, "env")) {
    // Go does not write an empty value, and reads an absent one as empty.
    if (variable["value"] === "") delete variable["value"];
    const reference = digObject(variable, "valueFrom")["fieldRef"];
    if (isObject(reference)) reference["apiVersion"] ??= "v1";
  }
  for (const field of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container[field];
    if (isObject(probe)) defaultProbe(probe);
  }
}

function defaultProbe(probe: JsonObject): void {
  probe["timeoutSeconds"] ??= 1;
  probe["periodSeconds"] ??= 10;
  probe["successThreshold"] ??= 1;
  probe["failureThreshold"] ??= 3;
  if (isObject(probe["httpGet"])) probe["httpGet"]["scheme"] ??= "HTTP";
}

/** 420 is 0644. */
function defaultVolume(volume: JsonObject): void {
  for (const source of ["configMap", "secret", "projected", "downwardAPI"]) {
    const found = volume[source];
    if (isObject(found)) found["defaultMode"] ??= 420;
  }
  if (isObject(volume["hostPath"])) volume["hostPath"]["type"] ??= "";
}

/** How long a pod stays on a node that does not answer, unless it says so itself. */
function defaultTolerations(spec: JsonObject): void {
  const tolerations = digList(spec, "tolerations");
  const isTold = (key: string) =>
    objects(spec, "tolerations").some((one) => one["key"] === key || one["key"] === undefined);
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter((key) => !isTold(key));
  if (missing.length === 0) return;
  spec["tolerations"] = [
    ...tolerations,
    ...missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 })),
  ];
}
