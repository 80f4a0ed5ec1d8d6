// What the real server fills into the spec of a pod, and into the template of one.
import { digList, digObject, isObject, type JsonObject } from "../json.ts";

const objects = (value: JsonObject, ...path: string[]) => digList(value, ...path).filter(isObject);

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
export function defaultTolerations(spec: JsonObject): void {
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
