// What the API does for some built-in kinds beyond storing them: defaults, initial status, checks.
import type { JsonObject } from "../json.ts";
import { clone, dig, digList, digObject, digString, equal, isObject, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { applyMergePatch } from "../patch/merge-patch.ts";
import { fieldError } from "../status.ts";
import type { FieldError } from "../status.ts";
import { defaultCrd, validateCrd } from "./crd-strategy.ts";
import { crdStorage } from "./crd.ts";
import { defaultPod, defaultPodSpec, initialPodStatus, validatePod } from "./pod-strategy.ts";

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
    if (before !== undefined && !equal(selector, dig(before, "spec", "selector"))) {
      errors.push(fieldError.invalid("spec.selector", selector, "field is immutable"));
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

const immutableData: Strategy = {
  validate(object, before) {
    const errors: FieldError[] = [];
    if (before?.["immutable"] === true) {
      if (object["immutable"] !== true)
        errors.push(fieldError.forbidden("immutable", "field is immutable when `immutable` is set"));
      for (const field of ["data", "binaryData", "stringData"]) {
        if (!equal(object[field], before[field])) {
          errors.push(fieldError.forbidden(field, "field is immutable when `immutable` is set"));
        }
      }
    }
    for (const field of ["data", "binaryData"]) {
      for (const key of Object.keys(digObject(object, field))) {
        if (!/^[-._a-zA-Z0-9]+$/.test(key)) {
          const rule =
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
          errors.push(fieldError.invalid(`${field}[${key}]`, key, rule));
        }
      }
    }
    return errors;
  },
};

const secret: Strategy = {
  defaults(object) {
    object["type"] ??= "Opaque";
    const given = object["stringData"];
    if (!isObject(given)) return;
    const data = ensure(object, "data");
    for (const [key, value] of Object.entries(given)) data[key] = Buffer.from(textOf(value)).toString("base64");
    delete object["stringData"];
  },
  validate(object, before) {
    const errors = immutableData.validate!(object, before);
    if (before !== undefined && object["type"] !== before["type"]) {
      errors.push(fieldError.invalid("type", object["type"], "field is immutable"));
    }
    return errors;
  },
};

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

const service: Strategy = {
  defaults(object) {
    const spec = ensure(object, "spec");
    spec["type"] ??= "ClusterIP";
    spec["sessionAffinity"] ??= "None";
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
  validate(object, before) {
    if (before === undefined || equal(object["roleRef"], before["roleRef"])) return [];
    return [fieldError.invalid("roleRef", object["roleRef"], "cannot change roleRef")];
  },
};

const lease: Strategy = {
  validate(object) {
    const seconds = dig(object, "spec", "leaseDurationSeconds");
    if (typeof seconds !== "number" || seconds > 0) return [];
    return [fieldError.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")];
  },
};

const webhooks: Strategy = {
  defaults(object) {
    for (const webhook of digList(object, "webhooks").filter(isObject)) {
      webhook["failurePolicy"] ??= "Fail";
      webhook["matchPolicy"] ??= "Equivalent";
      webhook["timeoutSeconds"] ??= 10;
      webhook["namespaceSelector"] ??= {};
      webhook["objectSelector"] ??= {};
      if (object.kind === "MutatingWebhookConfiguration") webhook["reinvocationPolicy"] ??= "Never";
      for (const rule of digList(webhook, "rules").filter(isObject)) rule["scope"] ??= "*";
    }
  },
  validate(object) {
    return digList(object, "webhooks").flatMap((webhook, at) => {
      const path = `webhooks[${at}]`;
      const errors: FieldError[] = [];
      const effects = digString(webhook, "sideEffects");
      if (effects !== "None" && effects !== "NoneOnDryRun") {
        errors.push(fieldError.unsupported(`${path}.sideEffects`, effects, ["None", "NoneOnDryRun"]));
      }
      if (digList(webhook, "admissionReviewVersions").length === 0) {
        errors.push(fieldError.required(`${path}.admissionReviewVersions`, "must specify one of v1, v1beta1"));
      }
      const url = digString(webhook, "clientConfig", "url");
      if (url === undefined && dig(webhook, "clientConfig", "service") === undefined) {
        errors.push(fieldError.required(`${path}.clientConfig`, "exactly one of url or service is required"));
      }
      if (url !== undefined && !url.startsWith("https://")) {
        errors.push(fieldError.invalid(`${path}.clientConfig.url`, url, `'https' is the only allowed URL scheme`));
      }
      return errors;
    });
  },
};

/** Key: storage. */
const strategies: Readonly<Record<string, Strategy>> = {
  "/pods": { defaults: defaultPod, initialise: initialPodStatus, validate: validatePod },
  "/configmaps": immutableData,
  "/secrets": secret,
  "/namespaces": namespace,
  "/nodes": { keepsStatusOnCreate: true },
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
  "rbac.authorization.k8s.io/rolebindings": roleBinding,
  "rbac.authorization.k8s.io/clusterrolebindings": roleBinding,
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": webhooks,
  "admissionregistration.k8s.io/validatingwebhookconfigurations": webhooks,
  [crdStorage]: { defaults: defaultCrd, validate: validateCrd },
};

const plain: Strategy = {};

export function strategyOf(storage: string): Strategy {
  return strategies[storage] ?? plain;
}
