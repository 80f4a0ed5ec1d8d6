// What the API does for some built-in kinds beyond storing them: defaults, initial status, checks.
import { type JsonObject, clone, dig, digList, digObject, digString, equal, isObject } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { applyMergePatch } from "../patch/strategic.ts";
import { selects } from "../selector.ts";
import { type FieldError, fieldError } from "../status.ts";
import { defaultCrd, validateCrd } from "./crd-strategy.ts";
import { crdStorage } from "./crd.ts";
import { configMap, secret } from "./data-strategy.ts";
import { defaultPod, defaultPodSpec, initialisePod, validatePod, validatePodSpec } from "./pod-strategy.ts";
import { webhookConfiguration } from "./webhook-strategy.ts";

export interface Strategy {
  /** In place, before validation, on every write. */
  defaults?(object: KubeObject): void;
  /** In place, on create only, after the status was dropped. */
  initialise?(object: KubeObject): void;
  validate?(object: KubeObject, before: KubeObject | undefined): FieldError[];
  /** The creator may give the status too. */
  readonly keepsStatusOnCreate?: true;
}

function ensure(object: JsonObject, key: string): JsonObject {
  const found = object[key];
  if (isObject(found)) return found;
  const made: JsonObject = {};
  object[key] = made;
  return made;
}

const templated: Strategy = {
  defaults(object) {
    const spec = ensure(object, "spec");
    const template = spec["template"];
    if (isObject(template) && isObject(template["spec"])) defaultPodSpec(template["spec"]);
  },
  validate(object, before) {
    const errors: FieldError[] = [];
    const selector = dig(object, "spec", "selector");
    if (selector === undefined) errors.push(fieldError.required("spec.selector"));
    const labels = digObject(object, "spec", "template", "metadata", "labels") as Record<string, string>;
    if (!selects(selector, labels)) {
      const rule = "`selector` does not match template `labels`";
      errors.push(fieldError.invalid("spec.template.metadata.labels", labels, rule));
    }
    errors.push(...validatePodSpec(digObject(object, "spec", "template", "spec"), "spec.template.spec"));
    if (before !== undefined && !equal(selector, dig(before, "spec", "selector"))) {
      errors.push(fieldError.immutable("spec.selector", selector));
    }
    return errors;
  },
};

/** A workload with the defaults of its own kind. */
const workload = (specDefaults: JsonObject): Strategy => ({
  ...templated,
  defaults(object) {
    templated.defaults!(object);
    const spec = ensure(object, "spec");
    for (const [key, value] of Object.entries(specDefaults)) {
      const given = spec[key];
      // Of a strategy, a client may have given the type only.
      const isPartial = isObject(given) && isObject(value) && (given["type"] ?? value["type"]) === value["type"];
      if (given === undefined) spec[key] = clone(value!);
      else if (isPartial) spec[key] = applyMergePatch(clone(value), given);
    }
  },
});

const namespace: Strategy = {
  defaults(object) {
    // The label by which selectors find a namespace by name.
    object.metadata.labels = { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name ?? "" };
  },
  initialise(object) {
    object["spec"] = { finalizers: ["kubernetes"] };
    object["status"] = { phase: "Active" };
  },
};

const node: Strategy = {
  keepsStatusOnCreate: true,
  validate(object, before) {
    const had = digList(before, "spec", "podCIDRs");
    if (had.length === 0 || equal(had, digList(object, "spec", "podCIDRs"))) return [];
    return [fieldError.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')];
  },
};

const event: Strategy = {
  validate(object, before) {
    const isNew = object.apiVersion === "events.k8s.io/v1";
    const field = isNew ? "regarding" : "involvedObject";
    const about = digString(object, field, "namespace") ?? "";
    const place = object.metadata.namespace ?? "";
    const errors: FieldError[] = [];
    // What has no namespace is spoken of in the default one.
    if (about === "" ? place !== "default" && place !== "kube-system" : about !== place) {
      errors.push(fieldError.invalid(`${field}.namespace`, about, "does not match event.namespace"));
    }
    if (!isNew || before !== undefined) return errors;
    for (const key of ["eventTime", "reportingController", "reportingInstance", "action", "reason", "type"]) {
      if ((digString(object, key) ?? "") === "") errors.push(fieldError.required(key));
    }
    return errors;
  },
};

const service: Strategy = {
  defaults(object) {
    const spec = ensure(object, "spec");
    spec["type"] ??= "ClusterIP";
    spec["sessionAffinity"] ??= "None";
    if (spec["type"] !== "ExternalName") spec["internalTrafficPolicy"] ??= "Cluster";
    for (const port of digList(spec, "ports").filter(isObject)) {
      port["protocol"] ??= "TCP";
      port["targetPort"] ??= port["port"];
    }
  },
  initialise(object) {
    object["status"] = { loadBalancer: {} };
  },
};

const roleBinding: Strategy = {
  defaults(object) {
    for (const subject of digList(object, "subjects").filter(isObject)) {
      if (subject["kind"] !== "ServiceAccount") subject["apiGroup"] ??= "rbac.authorization.k8s.io";
    }
  },
  validate(object, before) {
    if (before === undefined || equal(object["roleRef"], before["roleRef"])) return [];
    return [fieldError.invalid("roleRef", object["roleRef"], "cannot change roleRef")];
  },
};

/** Fields of the object itself, or of its spec, that have a plain default. */
const filled = (defaults: JsonObject, below?: "spec"): Strategy => ({
  defaults(object) {
    const target = below === undefined ? object : ensure(object, below);
    for (const [key, value] of Object.entries(defaults)) target[key] ??= value;
  },
});

const lease: Strategy = {
  validate(object) {
    const seconds = dig(object, "spec", "leaseDurationSeconds");
    if (typeof seconds !== "number" || seconds > 0) return [];
    return [fieldError.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")];
  },
};

/** Key: storage. */
const strategies: Readonly<Record<string, Strategy>> = {
  "/pods": { defaults: defaultPod, initialise: initialisePod, validate: validatePod },
  "/configmaps": configMap,
  "/secrets": secret,
  "/namespaces": namespace,
  "/nodes": node,
  "/events": event,
  "/services": service,
  "apps/deployments": workload({
    replicas: 1,
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  }),
  "apps/daemonsets": workload({
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    revisionHistoryLimit: 10,
  }),
  "apps/statefulsets": workload({
    replicas: 1,
    podManagementPolicy: "OrderedReady",
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
    revisionHistoryLimit: 10,
  }),
  "apps/replicasets": templated,
  "coordination.k8s.io/leases": lease,
  "flowcontrol.apiserver.k8s.io/flowschemas": filled({ matchingPrecedence: 1000 }, "spec"),
  "networking.k8s.io/networkpolicies": filled({ policyTypes: ["Ingress"] }, "spec"),
  "scheduling.k8s.io/priorityclasses": filled({ preemptionPolicy: "PreemptLowerPriority" }),
  "storage.k8s.io/storageclasses": filled({ reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
  "rbac.authorization.k8s.io/rolebindings": roleBinding,
  "rbac.authorization.k8s.io/clusterrolebindings": roleBinding,
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": webhookConfiguration,
  "admissionregistration.k8s.io/validatingwebhookconfigurations": webhookConfiguration,
  [crdStorage]: { defaults: defaultCrd, validate: validateCrd },
};

const plain: Strategy = {};

export function strategyOf(storage: string): Strategy {
  return strategies[storage] ?? plain;
}
