// The rules in a CRD's schema (x-kubernetes-validations): which can be evaluated here, and what they say of an object.
//
// Promised: a rule is evaluated, or its definition is refused; none is passed over in silence. Not promised: the real
// server's check of types when a rule is written; a mismatch is found when an object is looked at, and refuses it.
import { digList, digString, isObject, type JsonObject, type JsonValue, own } from "../json.ts";
import { childOf, listTypeOf, type Schema } from "../schema/schema.ts";
import { type FieldError, fieldError } from "../status.ts";
import { CelError, compile, type Expression, languageOf, type Value } from "./expression.ts";

const key = "x-kubernetes-validations";
const language = languageOf("self", "oldSelf");

/** What is wrong with the rules of one schema, not of those below it. */
export function ruleErrors(schema: JsonObject, path: string): FieldError[] {
  return digList(schema, key).flatMap((rule, at) => {
    const place = `${path}.${key}[${at}]`;
    if (isObject(rule) && rule["optionalOldSelf"] === true)
      return [fieldError.invalid(`${place}.optionalOldSelf`, true, "this server does not evaluate it")];
    return ["rule", "messageExpression"].flatMap((field) => {
      const source = digString(rule, field);
      if (source === undefined) return field === "rule" ? [fieldError.required(`${place}.rule`)] : [];
      const why = compile(language, source).fault;
      return why === undefined ? [] : [fieldError.invalid(`${place}.${field}`, source, `compilation failed: ${why}`)];
    });
  });
}

function ruleOf(rule: JsonValue) {
  const source = digString(rule, "rule") ?? "";
  /** It has a fault only where the definition was stored by a version of this server that did not look. */
  const expression = compile(language, source);
  const message = digString(rule, "messageExpression");
  return {
    source,
    expression,
    /** It compares with what was before: it is for updates only. */
    isTransition: expression.names.has("oldSelf"),
    message: digString(rule, "message"),
    messageExpression: message === undefined ? undefined : compile(language, message),
    reason: digString(rule, "reason") ?? "FieldValueInvalid",
    fieldPath: digString(rule, "fieldPath") ?? "",
  };
}

type Rule = ReturnType<typeof ruleOf>;

/** Compiled once. Key: the schema that has them. */
const compiled = new WeakMap<Schema, readonly Rule[]>();

function rulesOf(schema: Schema): readonly Rule[] {
  const rules = compiled.get(schema) ?? digList(schema as unknown as JsonObject, key).map(ruleOf);
  compiled.set(schema, rules);
  return rules;
}

/** Whether there is any rule in it: most kinds have none, and pay nothing. */
const ruled = new WeakMap<Schema, boolean>();

function hasRules(schema: Schema): boolean {
  const known = ruled.get(schema);
  if (known !== undefined) return known;
  ruled.set(schema, false); // a schema that contains itself has none of its own beyond this
  const below = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties];
  const found = rulesOf(schema).length > 0 || below.some((each) => typeof each === "object" && hasRules(each));
  ruled.set(schema, found);
  return found;
}

/** `old`: what was at this place before, where that can be told. */
export function evaluateRules(value: JsonValue, old: JsonValue | undefined, schema: Schema, path = ""): FieldError[] {
  if (value === null || !hasRules(schema)) return [];
  const errors = rulesOf(schema).flatMap((rule) => broken(rule, value, old, schema, path));
  if (Array.isArray(value) && schema.items !== undefined) {
    const before = partnersOf(schema, old);
    for (const [at, item] of value.entries())
      errors.push(...evaluateRules(item, before(item), schema.items, `${path}[${at}]`));
  } else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      const child = childOf(schema, name);
      if (child === undefined || item === undefined) continue;
      const before = isObject(old) ? own(old, name) : undefined;
      errors.push(...evaluateRules(item, before, child, path === "" ? name : `${path}.${name}`));
    }
  }
  return errors;
}

/** Items of a list are the same ones as before only where they have keys. */
function partnersOf(schema: Schema, old: JsonValue | undefined): (item: JsonValue) => JsonValue | undefined {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (listTypeOf(schema) !== "map" || keys === undefined || !Array.isArray(old)) return () => undefined;
  const named = (item: JsonValue) => JSON.stringify(keys.map((name) => (isObject(item) ? item[name] : undefined)));
  const before = new Map(old.map((item) => [named(item), item]));
  return (item) => before.get(named(item));
}

function broken(rule: Rule, value: JsonValue, old: JsonValue | undefined, schema: Schema, path: string): FieldError[] {
  if (rule.isTransition && (old === undefined || old === null)) return [];
  const isRoot = path === "";
  const field = `${path}${isRoot ? rule.fieldPath.replace(/^\./, "") : rule.fieldPath}`;
  try {
    const self = valueOf(value, schema, isRoot);
    const scope = old === undefined ? { self } : { self, oldSelf: valueOf(old, schema, isRoot) };
    if (rule.expression.evaluate(scope) === true) return [];
    return [refusal(rule.reason, field, value, said(rule, scope))];
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    const detail = `rule evaluation error: ${error.message} evaluating rule: ${rule.message ?? rule.source}`;
    return [refusal("", field, value, detail)];
  }
}

function said({ message, messageExpression, source }: Rule, scope: Readonly<Record<string, Value>>): string {
  const fallback = message ?? `failed rule: ${source}`;
  try {
    const text = messageExpression?.evaluate(scope);
    return typeof text === "string" && text.trim() !== "" ? text : fallback;
  } catch (error) {
    if (error instanceof CelError) return fallback;
    throw error;
  }
}

function refusal(reason: string, field: string, value: JsonValue, detail: string): FieldError {
  if (reason === "FieldValueForbidden") return fieldError.forbidden(field, detail);
  if (reason === "FieldValueRequired") return fieldError.required(field, detail);
  return fieldError.invalid(field, value, detail);
}

/** Key: the format; value: what makes a value of its type out of the text. */
const conversions: ReadonlyMap<string, Expression> = new Map([
  ["date-time", compile(language, "timestamp(self)")],
  ["date", compile(language, "timestamp(self + 'T00:00:00Z')")],
  ["duration", compile(language, "duration(self)")],
]);

/** What is no value of its type stays a text: a rule that takes it for one fails, and others do not. */
function textIn(self: string, { type, format = "" }: Schema): Value {
  if (type !== "string") return self;
  if (format === "byte") return new Uint8Array(Buffer.from(self, "base64"));
  try {
    return conversions.get(format)?.evaluate({ self }) ?? self;
  } catch (error) {
    if (error instanceof CelError) return self;
    throw error;
  }
}

/** Words of the language, which a field's name is not. */
const reserved =
  /^(true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return)$/;
const marks: Readonly<Record<string, string>> = { __: "underscores", ".": "dot", "-": "dash", "/": "slash" };

/** How rules write the name of a field; the keys of a map are as they are. */
function fieldName(name: string, schema: Schema | undefined): string {
  if (schema?.properties === undefined || !Object.hasOwn(schema.properties, name)) return name;
  if (reserved.test(name)) return `__${name}__`;
  return name.replaceAll(/__|[./-]/g, (mark) => `__${marks[mark]}__`);
}

/** Numbers and texts become what the schema says they are. Of an object's own metadata, rules see its name only. */
export function valueOf(value: JsonValue, schema?: Schema, isRoot = false): Value {
  if (typeof value === "number") return schema?.type === "number" || !Number.isInteger(value) ? value : BigInt(value);
  if (typeof value === "string") return schema === undefined ? value : textIn(value, schema);
  if (Array.isArray(value)) return value.map((item) => valueOf(item, schema?.items));
  if (!isObject(value)) return value;
  const fields = new Map<string, Value>();
  for (const [name, item] of Object.entries(value)) {
    const child = childOf(schema, name);
    if (item === undefined || (item === null && child?.nullable !== true)) continue;
    const isMetadata = isRoot && name === "metadata" && isObject(item);
    const { name: given, generateName } = isMetadata ? item : {};
    const shown = isMetadata ? valueOf({ name: given, generateName }) : valueOf(item, child);
    fields.set(fieldName(name, schema), shown);
  }
  return fields;
}
