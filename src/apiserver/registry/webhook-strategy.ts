// Webhook configurations: defaults, and the checks that keep a bad one from being stored.
import { conditionLanguage } from "../admission/webhook.ts";
import { compile } from "../cel/expression.ts";
import { dig, digList, digString, isObject } from "../json.ts";
import { type FieldError, fieldError } from "../status.ts";
import type { Strategy } from "./strategy.ts";

export const webhookConfiguration: Strategy = {
  defaults(object) {
    for (const webhook of digList(object, "webhooks").filter(isObject)) {
      const service = dig(webhook, "clientConfig", "service");
      if (isObject(service)) service["port"] ??= 443;
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
      const name = digString(webhook, "name") ?? "";
      if (name.split(".").length < 3) {
        errors.push(
          fieldError.invalid(`${path}.name`, name, "should be a domain with at least three segments separated by dots"),
        );
      }
      digList(webhook, "matchConditions").forEach((condition, position) => {
        const expression = digString(condition, "expression") ?? "";
        const why = compile(conditionLanguage, expression).fault;
        const place = `${path}.matchConditions[${position}].expression`;
        if (why !== undefined) errors.push(fieldError.invalid(place, expression, `compilation failed: ${why}`));
      });
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
