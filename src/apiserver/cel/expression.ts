// CEL (Common Expression Language): @marcbachmann/cel-js parses, checks and evaluates it (docs/decisions/0018). Added
// here: a bound on the work of one look, Kubernetes' functions, the refusal of patterns with another meaning in Go.
import { type ASTNode, Environment, EvaluationError, ParseError, TypeError as CheckError } from "@marcbachmann/cel-js";

import { isGoOnly, patternOf } from "../schema/validate.ts";

export class CelError extends Error {
  override readonly name = "CelError";
  readonly code = "CelError";
}

/** int is a bigint, double a number, timestamp a Date, bytes a Uint8Array; map keys are texts. Or a library's value. */
export type Value = unknown;

export interface Expression {
  /** Why it cannot be evaluated here; undefined where it can. */
  readonly fault: string | undefined;
  /** The variables that it reads, those that macros bind included. */
  readonly names: ReadonlySet<string>;
  /** Throws a CelError, its fault included. */
  evaluate(scope: Readonly<Record<string, Value>>): Value;
}

/** The real server's limit of an expression. */
const lengthMax = 10_000;
/** Everything that walks a tree is recursive: brackets in brackets, and nodes of one chain (a + b + c). */
const limits = { maxDepth: 100, maxAstNodes: 4000 };
/** About a second. A rule that looks at each pair in a list of 1,000 is below it; one that takes a minute is not. */
const stepsMax = 10_000_000;

export function languageOf(...names: readonly string[]): Environment {
  const language = new Environment({ homogeneousAggregateLiterals: false, enableOptionalTypes: true, limits })
    .registerFunction("matches(string, string): bool", matches)
    .registerFunction("string.replace(string, string): string", (text: string, from: string, to: string) =>
      text.replaceAll(from, () => to),
    );
  for (const name of names) language.registerVariable(name, "dyn");
  return language;
}

function matches(text: string, pattern: string): boolean {
  const regexp = patternOf(pattern);
  if (regexp === undefined) throw new CelError(`the pattern ${JSON.stringify(pattern)} cannot be read`);
  return regexp.test(text);
}

export function compile(language: Environment, source: string): Expression {
  try {
    return inWords(() => compiled(language, source));
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    const evaluate = () => {
      throw error;
    };
    return { fault: error.message, names: new Set(), evaluate };
  }
}

function compiled(language: Environment, source: string): Expression {
  if (source.length > lengthMax) throw new CelError(`it is longer than ${lengthMax} characters`);
  const parsed = language.parse(source);
  const { valid, error } = parsed.check();
  if (!valid) throw error;
  const nodes = nodesOf(parsed.ast);
  const foreign = nodes.map(patternIn).find((pattern) => pattern !== undefined && isGoOnly(pattern));
  if (foreign !== undefined) throw new CelError(`the pattern ${JSON.stringify(foreign)} is in a form only Go reads`);
  const literal = Math.max(0, ...nodes.map(({ op, args }) => (op === "list" || op === "map" ? args.length : 0)));
  return {
    fault: undefined,
    names: new Set(nodes.flatMap((node) => (node.op === "id" ? [node.args] : []))),
    evaluate: (scope) => {
      const length = Math.max(literal, longestIn(Object.values(scope)));
      if (stepsOf(parsed.ast, length) > stepsMax) throw new CelError("it takes too long");
      return inWords((): Value => parsed({ ...scope }));
    },
  };
}

/** Errors of the library, in one line, as ours. */
function inWords<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof RangeError) throw new CelError("it is nested too deep", { cause });
    const isKnown = cause instanceof ParseError || cause instanceof CheckError || cause instanceof EvaluationError;
    if (!isKnown) throw cause;
    throw new CelError(cause.summary.charAt(0).toLowerCase() + cause.summary.slice(1), { cause });
  }
}

const isNode = (value: unknown): value is ASTNode => typeof value === "object" && value !== null && "op" in value;

function partsOf(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(partsOf);
  return isNode(args) ? [args] : [];
}

const nodesOf = (node: ASTNode): ASTNode[] => [node, ...partsOf(node.args).flatMap(nodesOf)];

/** The pattern of a call of x.matches("..."), which the library reads as JavaScript does. */
function patternIn({ op, args }: ASTNode): string | undefined {
  const [pattern] = op === "rcall" && args[0] === "matches" ? args[2] : [];
  return pattern?.op === "value" && typeof pattern.args === "string" ? pattern.args : undefined;
}

const loops: ReadonlySet<string> = new Set(["all", "exists", "exists_one", "filter", "map"]);

/** An upper bound: every loop counts as the longest list's. Lists that expressions make (`split`, `+`) do not count. */
function stepsOf(node: ASTNode, length: number): number {
  const isLoop = node.op === "rcall" && loops.has(node.args[0]);
  let steps = 1;
  for (const [at, part] of partsOf(node.args).entries())
    steps += stepsOf(part, length) * (isLoop && at > 0 ? length : 1);
  return steps;
}

function longestIn(value: Value): number {
  if (!Array.isArray(value) && !(value instanceof Map)) return 0;
  let longest = Array.isArray(value) ? value.length : value.size;
  for (const item of value.values()) longest = Math.max(longest, longestIn(item));
  return longest;
}
