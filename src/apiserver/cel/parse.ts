// CEL (the Common Expression Language, github.com/google/cel-spec, langdef.md) from text to a tree, as far as evaluate.ts goes.
// What is beyond it is refused here with a sentence, so that nobody writes a rule that is never looked at.

export class CelError extends Error {
  override readonly name = "CelError";
  readonly code = "CelError";
}

type Literal = bigint | number | string | boolean | null;

export type Expression =
  | { readonly kind: "literal"; readonly value: Literal }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "field"; readonly of: Expression; readonly name: string }
  | { readonly kind: "index"; readonly of: Expression; readonly at: Expression }
  | { readonly kind: "list"; readonly items: readonly Expression[] }
  | { readonly kind: "map"; readonly entries: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: "unary"; readonly operator: "!" | "-"; readonly of: Expression }
  | { readonly kind: "binary"; readonly operator: string; readonly left: Expression; readonly right: Expression }
  | { readonly kind: "choice"; readonly test: Expression; readonly yes: Expression; readonly no: Expression }
  /** `of` is absent for a function, as size(x). */
  | { readonly kind: "call"; readonly of?: Expression; readonly name: string; readonly args: readonly Expression[] };

interface Token {
  readonly type: "number" | "text" | "name" | "mark" | "end";
  readonly text: string;
  readonly value?: Literal;
}

/** The real server's limit of an expression. */
const lengthMax = 10_000;
/** Everything that walks a tree is recursive: brackets in brackets, and links of one chain (a + b + c, a.b.c). */
const depthMax = 100;
const linksMax = 1000;

const pattern =
  /\s+|\/\/[^\n]*|(?<number>0x[0-9a-fA-F]+|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)|(?<text>[rR]?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|(?<name>[A-Za-z_]\w*)|(?<mark>\|\||&&|[<>=!]=|[-+*/%!<>?:.,()[\]{}])/gy;

function tokensOf(source: string): Token[] {
  if (source.length > lengthMax) throw new CelError(`it is longer than ${lengthMax} characters`);
  const tokens: Token[] = [];
  pattern.lastIndex = 0;
  while (pattern.lastIndex < source.length) {
    const from = pattern.lastIndex;
    const groups = pattern.exec(source)?.groups;
    if (groups === undefined)
      throw new CelError(`it is not understood from ${JSON.stringify(source.slice(from, from + 20))}`);
    const { number, text, name, mark } = groups;
    if (number !== undefined) {
      if (/[uU\w]/.test(source[pattern.lastIndex] ?? "")) throw new CelError("unsigned numbers are not evaluated");
      tokens.push({ type: "number", text: number, value: /^0x|^\d+$/.test(number) ? BigInt(number) : Number(number) });
    } else if (text !== undefined) tokens.push({ type: "text", text, value: unquoted(text) });
    else if (name !== undefined) tokens.push({ type: "name", text: name });
    else if (mark !== undefined) tokens.push({ type: "mark", text: mark });
  }
  return [...tokens, { type: "end", text: "the end" }];
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", a: "\u0007", b: "\b", f: "\f", v: "\v" };

function unquoted(text: string): string {
  const isRaw = /^[rR]/.test(text);
  const quoted = isRaw ? text.slice(1) : text;
  const width = /^("""|''')/.test(quoted) ? 3 : 1;
  const inner = quoted.slice(width, -width);
  if (isRaw) return inner;
  return inner.replaceAll(
    /\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)/gs,
    (_, code: string) => {
      if (/^[xuU]./.test(code)) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
      if (/^[0-3][0-7]{2}$/.test(code)) return String.fromCodePoint(Number.parseInt(code, 8));
      return escapes[code] ?? code;
    },
  );
}

/** Loosest first. */
const levels: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["<", "<=", ">", ">=", "==", "!=", "in"],
  ["+", "-"],
  ["*", "/", "%"],
];

export function parseCel(source: string): Expression {
  return new Parser(tokensOf(source)).whole();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    const expression = this.#expression();
    if (this.#next.type !== "end") this.#fail();
    return expression;
  }

  get #next(): Token {
    return this.#tokens[this.#at]!;
  }

  #fail(): never {
    throw new CelError(`it is not understood at ${this.#next.text}`);
  }

  /** Takes the mark or the word if it comes next. */
  #take(text: string): boolean {
    const { type, text: found } = this.#next;
    if ((type !== "mark" && type !== "name") || found !== text) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail();
  }

  #expression(): Expression {
    if (++this.#depth > depthMax) throw new CelError(`it is nested more than ${depthMax} deep`);
    const test = this.#binary(0);
    let result = test;
    if (this.#take("?")) {
      const yes = this.#binary(0);
      this.#expect(":");
      result = { kind: "choice", test, yes, no: this.#expression() };
    }
    this.#depth -= 1;
    return result;
  }

  #binary(level: number): Expression {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (let links = 0; ; links++) {
      if (links > linksMax) throw new CelError(`it has more than ${linksMax} links in one chain`);
      const operator = operators.find((each) => this.#take(each));
      if (operator === undefined) return left;
      left = { kind: "binary", operator, left, right: this.#binary(level + 1) };
    }
  }

  #unary(): Expression {
    const signs: ("!" | "-")[] = [];
    for (;;) {
      const sign = (["!", "-"] as const).find((each) => this.#take(each));
      if (sign === undefined) break;
      if (signs.push(sign) > depthMax) throw new CelError(`it is nested more than ${depthMax} deep`);
    }
    return signs.reduceRight<Expression>((of, operator) => ({ kind: "unary", operator, of }), this.#member());
  }

  #member(): Expression {
    let of = this.#primary();
    for (let links = 0; ; links++) {
      if (links > linksMax) throw new CelError(`it has more than ${linksMax} links in one chain`);
      if (this.#take(".")) {
        if (this.#next.text === "?") throw new CelError("optional fields (.?) are not evaluated");
        const name = this.#name();
        of = this.#take("(") ? { kind: "call", of, name, args: this.#list(")") } : { kind: "field", of, name };
      } else if (this.#take("[")) {
        of = { kind: "index", of, at: this.#expression() };
        this.#expect("]");
      } else return of;
    }
  }

  #name(): string {
    const { type, text } = this.#next;
    if (type !== "name") this.#fail();
    this.#at += 1;
    return text;
  }

  #primary(): Expression {
    const { type, text, value } = this.#next;
    if (type === "number" || type === "text") {
      this.#at += 1;
      return { kind: "literal", value: value! };
    }
    if (this.#take("(")) {
      const inner = this.#expression();
      this.#expect(")");
      return inner;
    }
    if (this.#take("[")) return { kind: "list", items: this.#list("]") };
    if (this.#take("{")) return { kind: "map", entries: this.#entries() };
    if (type !== "name") this.#fail();
    this.#at += 1;
    if (this.#take("(")) return { kind: "call", name: text, args: this.#list(")") };
    if (text === "true" || text === "false") return { kind: "literal", value: text === "true" };
    if (text === "null") return { kind: "literal", value: null };
    return { kind: "name", name: text };
  }

  #list(close: string): Expression[] {
    const items: Expression[] = [];
    while (!this.#take(close)) {
      if (items.length > 0) this.#expect(",");
      if (items.length > 0 && this.#take(close)) return items;
      items.push(this.#expression());
    }
    return items;
  }

  #entries(): (readonly [Expression, Expression])[] {
    const entries: (readonly [Expression, Expression])[] = [];
    while (!this.#take("}")) {
      if (entries.length > 0) this.#expect(",");
      const key = this.#expression();
      this.#expect(":");
      entries.push([key, this.#expression()]);
    }
    return entries;
  }
}
