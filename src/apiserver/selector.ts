// Label and field selectors: parsed once per request, then asked for every object.
import { digList, digObject, digString, type JsonValue } from "./json.ts";
import { badRequest } from "./status.ts";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: "in" | "notin" | "exists" | "!" | "gt" | "lt";
  readonly values: readonly string[];
}

export type Labels = Readonly<Record<string, string>> | undefined;

const requirement =
  /^\s*(?:(!)\s*([^\s=!<>(),]+)|([^\s=!<>(),]+)(?:\s*(==|=|!=|<|>)\s*([^\s=!<>(),]*)|\s+(in|notin)\s*\(([^)]*)\))?)\s*$/;

export function parseLabelSelector(text: string): LabelRequirement[] {
  return splitTop(text).map((part) => {
    const match = requirement.exec(part);
    if (match === null) {
      throw badRequest(`unable to parse requirement: ${JSON.stringify(part)} is not a label requirement`);
    }
    const [, not, notKey, key, operator, value, setOperator, set] = match;
    if (not !== undefined) return { key: notKey!, operator: "!", values: [] };
    if (setOperator !== undefined) {
      const values = set!.split(",").map((item) => item.trim());
      return { key: key!, operator: setOperator === "in" ? "in" : "notin", values };
    }
    if (operator === undefined) return { key: key!, operator: "exists", values: [] };
    if (operator === "<" || operator === ">") return numeric(key!, operator, value!);
    return { key: key!, operator: operator === "!=" ? "notin" : "in", values: [value!] };
  });
}

function numeric(key: string, operator: "<" | ">", value: string): LabelRequirement {
  if (!/^-?\d+$/.test(value)) {
    throw badRequest(
      `unable to parse requirement: values: Invalid value: ${JSON.stringify(value)}: must be an integer`,
    );
  }
  return { key, operator: operator === "<" ? "lt" : "gt", values: [value] };
}

/** Splits at commas outside of parentheses; an empty text has no parts. */
function splitTop(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === "(") depth++;
    else if (letter === ")") depth--;
    else if (letter === "," && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return text.trim() === "" ? [] : parts;
}

const labelOf = (labels: Labels, key: string) =>
  labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;

export function matchesLabels(requirements: readonly LabelRequirement[], labels: Labels): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = labelOf(labels, key);
    switch (operator) {
      case "exists":
        return value !== undefined;
      case "!":
        return value === undefined;
      case "in":
        return value !== undefined && values.includes(value);
      case "notin":
        return value === undefined || !values.includes(value);
      case "gt":
      case "lt":
        return compares(operator, value, values[0]!);
    }
    return false;
  });
}

function compares(operator: "gt" | "lt", value: string | undefined, bound: string): boolean {
  if (value === undefined || !/^-?\d+$/.test(value)) return false;
  return operator === "gt" ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
}

export function parseFieldSelector(text: string) {
  const parts = text.split(/(?<!\\),/).filter((part) => part !== "");
  return parts.map((part) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/s.exec(part);
    if (match === null)
      throw badRequest(`invalid selector: ${JSON.stringify(text)}; can't understand ${JSON.stringify(part)}`);
    return { field: match[1]!, equals: match[2] !== "!=", value: match[3]!.replace(/\\([,=\\])/g, "$1") };
  });
}

/** Key: the operator of an expression. */
const operators: ReadonlyMap<string, LabelRequirement["operator"]> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);

/** metav1.LabelSelector, the structured form. An operator that is none selects nothing. */
export function selects(selector: JsonValue | undefined, labels: Labels): boolean {
  const requirements = Object.entries(digObject(selector, "matchLabels")).map(([key, value]): LabelRequirement => ({
    key,
    operator: "in",
    values: [value as string],
  }));
  for (const expression of digList(selector, "matchExpressions")) {
    const operator = operators.get(digString(expression, "operator") ?? "");
    if (operator === undefined) return false;
    const values = digList(expression, "values") as string[];
    requirements.push({ key: digString(expression, "key") ?? "", operator, values });
  }
  return matchesLabels(requirements, labels);
}
