// Evaluates a tree of parse.ts on values. `&&`, `||` and the macros know the language's rule on errors: true || error is true.
import { functions, int, isList, isMap, methods, Opaque, typeOf, type Value } from "./functions.ts";
import { CelError, type Expression } from "./parse.ts";

/** Key: the variable's name. */
export type Scope = ReadonlyMap<string, Value>;

const macros: ReadonlySet<string> = new Set(["all", "exists", "exists_one", "filter", "map"]);

/** A rule on a list of 1,000 that looks at each pair is below it; one that keeps the process busy for seconds is not. */
const stepsMax = 2_000_000;

/** In a sentence why it cannot be evaluated here; undefined where it can. Variables are those that are given, and what macros bind. */
export function beyond(expression: Expression, variables: ReadonlySet<string>): string | undefined {
  const all = (...parts: readonly Expression[]) =>
    parts.map((part) => beyond(part, variables)).find((why) => why !== undefined);
  switch (expression.kind) {
    case "literal":
      return undefined;
    case "name":
      return variables.has(expression.name) ? undefined : `undeclared reference to '${expression.name}'`;
    case "field":
    case "unary":
      return all(expression.of);
    case "index":
      return all(expression.of, expression.at);
    case "list":
      return all(...expression.items);
    case "map":
      return all(...expression.entries.flat());
    case "binary":
      return all(expression.left, expression.right);
    case "choice":
      return all(expression.test, expression.yes, expression.no);
    case "call":
      return beyondCall(expression, variables);
  }
}

function beyondCall({ of, name, args }: Extract<Expression, { kind: "call" }>, variables: ReadonlySet<string>) {
  if (of === undefined && name === "has") {
    if (args.length !== 1 || args[0]!.kind !== "field") return "invalid argument to has() macro";
    return beyond(args[0], variables);
  }
  let inside = variables;
  let rest = args;
  if (of !== undefined && macros.has(name)) {
    const variable = args[0];
    if (args.length < 2 || args.length > (name === "map" ? 3 : 2) || variable?.kind !== "name") {
      return `the macro ${name} is given other arguments than a variable and an expression`;
    }
    inside = new Set([...variables, variable.name]);
    rest = args.slice(1);
  } else if (!Object.hasOwn(of === undefined ? functions : methods, name)) {
    return `the function ${name} is not evaluated by this server`;
  }
  const whys = [...(of === undefined ? [] : [beyond(of, variables)]), ...rest.map((each) => beyond(each, inside))];
  return whys.find((why) => why !== undefined);
}

export function evaluate(expression: Expression, scope: Scope): Value {
  return new Evaluation().of(expression, scope);
}

class Evaluation {
  #steps = 0;

  of(expression: Expression, scope: Scope): Value {
    if (++this.#steps > stepsMax) throw new CelError("it takes too long");
    switch (expression.kind) {
      case "literal":
        return expression.value;
      case "name":
        return found(scope.get(expression.name), expression.name);
      case "field":
        return found(fieldOf(this.of(expression.of, scope), expression.name), expression.name);
      case "index":
        return indexed(this.of(expression.of, scope), this.of(expression.at, scope));
      case "list":
        return expression.items.map((item) => this.of(item, scope));
      case "map":
        return new Map(expression.entries.map(([key, value]) => [keyOf(this.of(key, scope)), this.of(value, scope)]));
      case "unary":
        return this.#unary(expression.operator, this.of(expression.of, scope));
      case "choice":
        return this.of(isTrue(this.of(expression.test, scope)) ? expression.yes : expression.no, scope);
      case "binary":
        if (expression.operator === "&&") return this.#every([expression.left, expression.right], () => scope);
        if (expression.operator === "||") return !this.#every([expression.left, expression.right], () => scope, true);
        return binary(expression.operator, this.of(expression.left, scope), this.of(expression.right, scope));
      case "call":
        return this.#call(expression, scope);
    }
  }

  /** True if all are (of their opposites: if none is). One that decides it outweighs an error before it. */
  #every(parts: readonly Expression[], scopeOf: (at: number) => Scope, opposite = false): boolean {
    let error: unknown;
    for (const [at, part] of parts.entries()) {
      try {
        if (isTrue(this.of(part, scopeOf(at))) === opposite) return false;
      } catch (cause) {
        if (!(cause instanceof CelError)) throw cause;
        error ??= cause;
      }
    }
    if (error !== undefined) throw error;
    return true;
  }

  #unary(operator: "!" | "-", value: Value): Value {
    if (operator === "!") return !isTrue(value);
    if (typeof value === "bigint") return int(-value);
    return typeof value === "number" ? -value : noOverload(operator, value);
  }

  #call({ of, name, args }: Extract<Expression, { kind: "call" }>, scope: Scope): Value {
    if (of === undefined && name === "has") {
      const { of: target, name: field } = args[0] as Extract<Expression, { kind: "field" }>;
      return fieldOf(this.of(target, scope), field) !== undefined;
    }
    if (of === undefined) return functions[name]!(...args.map((each) => this.of(each, scope)));
    const target = this.of(of, scope);
    if (macros.has(name)) return this.#macro(name, target, args, scope);
    return methods[name]!(target, ...args.map((each) => this.of(each, scope)));
  }

  #macro(name: string, target: Value, args: readonly Expression[], scope: Scope): Value {
    const items: readonly Value[] = isMap(target)
      ? [...target.keys()]
      : isList(target)
        ? target
        : noOverload(name, target);
    const variable = (args[0] as Extract<Expression, { kind: "name" }>).name;
    const inside = (item: Value): Scope => new Map([...scope, [variable, item]]);
    const body = args.at(-1)!;
    const bodies = items.map(() => body);
    const scopeOf = (at: number) => inside(items[at]!);
    if (name === "all") return this.#every(bodies, scopeOf);
    if (name === "exists") return !this.#every(bodies, scopeOf, true);
    const chosen = (test: Expression) => items.filter((item) => isTrue(this.of(test, inside(item))));
    if (name === "exists_one") return chosen(body).length === 1;
    if (name === "filter") return chosen(body);
    return (args.length === 3 ? chosen(args[1]!) : items).map((item) => this.of(body, inside(item)));
  }
}

function noOverload(name: string, ...values: readonly Value[]): never {
  throw new CelError(`no such overload: ${name} of ${values.map(typeOf).join(", ")}`);
}

function found(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new CelError(`no such key: ${name}`);
  if (value instanceof Opaque)
    throw new CelError(`${name} is of format ${value.format}, which this server does not evaluate`);
  return value;
}

const isTrue = (value: Value): boolean => (typeof value === "boolean" ? value : noOverload("a condition", value));
const keyOf = (value: Value): string => (typeof value === "string" ? value : noOverload("a key", value));

/** Names that are no names of the language are written with words between underscores. */
const unescaped = (name: string) =>
  name
    .replace(/^__(\w+)__$/, (text, word: string) => (/^[a-z]+$/.test(word) ? word : text))
    .replaceAll("__dot__", ".")
    .replaceAll("__dash__", "-")
    .replaceAll("__slash__", "/")
    .replaceAll("__underscores__", "__");

function fieldOf(of: Value, name: string): Value | undefined {
  return isMap(of) ? (of.get(unescaped(name)) ?? of.get(name)) : noOverload(`.${name}`, of);
}

function indexed(of: Value, at: Value): Value {
  if (isMap(of)) return found(of.get(keyOf(at)), keyOf(at));
  if (!isList(of) || typeof at !== "bigint") return noOverload("[]", of, at);
  const value = of[Number(at)];
  if (value === undefined) throw new CelError(`index out of bounds: ${at}`);
  return value;
}

function isEqual(a: Value, b: Value): boolean {
  if (isList(a) && isList(b)) return a.length === b.length && a.every((each, at) => isEqual(each, b[at]!));
  if (isMap(a) && isMap(b)) {
    return a.size === b.size && [...a].every(([key, each]) => b.has(key) && isEqual(each, b.get(key)!));
  }
  const areNumbers = ["bigint", "number"].includes(typeof a) && ["bigint", "number"].includes(typeof b);
  // oxlint-disable-next-line eqeqeq -- 1n == 1 is what the language means.
  return areNumbers ? a == b : a === b;
}

function binary(operator: string, a: Value, b: Value): Value {
  switch (operator) {
    case "==":
      return isEqual(a, b);
    case "!=":
      return !isEqual(a, b);
    case "in":
      if (isMap(b)) return b.has(keyOf(a));
      return isList(b) ? b.some((each) => isEqual(each, a)) : noOverload(operator, a, b);
    case "<":
    case "<=":
    case ">":
    case ">=":
      return compared(operator, a, b);
    default:
      return arithmetic(operator, a, b);
  }
}

function compared(operator: "<" | "<=" | ">" | ">=", a: Value, b: Value): boolean {
  const order = (type: string) => (type === "double" ? "int" : type);
  const types = [typeOf(a), typeOf(b)].map(order);
  if (types[0] !== types[1] || !["int", "string", "bool"].includes(types[0]!)) return noOverload(operator, a, b);
  const [x, y] = [a as number, b as number];
  return operator === "<" ? x < y : operator === "<=" ? x <= y : operator === ">" ? x > y : x >= y;
}

function arithmetic(operator: string, a: Value, b: Value): Value {
  if (operator === "+" && typeof a === "string" && typeof b === "string") return a + b;
  if (operator === "+" && isList(a) && isList(b)) return [...a, ...b];
  if (typeof a === "bigint" && typeof b === "bigint") return int(whole(operator, a, b));
  if (typeof a !== "number" || typeof b !== "number" || operator === "%") return noOverload(operator, a, b);
  return operator === "+" ? a + b : operator === "-" ? a - b : operator === "*" ? a * b : a / b;
}

function whole(operator: string, a: bigint, b: bigint): bigint {
  if (operator === "+") return a + b;
  if (operator === "-") return a - b;
  if (operator === "*") return a * b;
  if (b === 0n) throw new CelError(operator === "/" ? "division by zero" : "modulus by zero");
  return operator === "/" ? a / b : a % b;
}
