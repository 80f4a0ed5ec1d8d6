// A set of fields as a tree, and its wire form FieldsV1.
// Path elements are kept as they are written there: `f:name` a field, `k:{...}` an item of a list by its keys, `v:...` an item of a set.
import type { JsonObject } from "../json.ts";
import { isObject } from "../json.ts";

export class FieldSet {
  /** The node itself belongs to the set, not only what is below it. */
  member = false;
  readonly children = new Map<string, FieldSet>();

  static fromFieldsV1(fields: JsonObject): FieldSet {
    const set = new FieldSet();
    const entries = Object.entries(fields);
    set.member = entries.length === 0 || fields["."] !== undefined;
    for (const [element, below] of entries) {
      if (element !== "." && isObject(below)) set.children.set(element, FieldSet.fromFieldsV1(below));
    }
    return set;
  }

  /** The root of an empty set; `{}` alone would read as a member. */
  static parse(fields: JsonObject | undefined): FieldSet {
    const set = FieldSet.fromFieldsV1(fields ?? {});
    set.member = false;
    return set;
  }

  toFieldsV1(): JsonObject {
    const fields: JsonObject = {};
    if (this.member && this.children.size > 0) fields["."] = {};
    for (const element of [...this.children.keys()].sort()) fields[element] = this.children.get(element)!.toFieldsV1();
    return fields;
  }

  child(element: string): FieldSet {
    let found = this.children.get(element);
    if (found === undefined) this.children.set(element, (found = new FieldSet()));
    return found;
  }

  get empty(): boolean {
    return !this.member && this.children.size === 0;
  }

  copy(): FieldSet {
    const set = new FieldSet();
    set.member = this.member;
    for (const [element, below] of this.children) set.children.set(element, below.copy());
    return set;
  }

  union(other: FieldSet): FieldSet {
    const set = this.copy();
    set.#add(other);
    return set;
  }

  #add(other: FieldSet): void {
    this.member ||= other.member;
    for (const [element, below] of other.children) this.child(element).#add(below);
  }

  minus(other: FieldSet | undefined): FieldSet {
    const set = new FieldSet();
    set.member = this.member && other?.member !== true;
    for (const [element, below] of this.children) {
      const rest = below.minus(other?.children.get(element));
      if (!rest.empty) set.children.set(element, rest);
    }
    return set;
  }

  intersect(other: FieldSet): FieldSet {
    const set = new FieldSet();
    set.member = this.member && other.member;
    for (const [element, below] of this.children) {
      const match = other.children.get(element);
      const common = match === undefined ? undefined : below.intersect(match);
      if (common !== undefined && !common.empty) set.children.set(element, common);
    }
    return set;
  }

  equals(other: FieldSet): boolean {
    if (this.member !== other.member || this.children.size !== other.children.size) return false;
    for (const [element, below] of this.children) {
      const match = other.children.get(element);
      if (match === undefined || !below.equals(match)) return false;
    }
    return true;
  }

  /** Members in words: `.spec.containers[name="a"].image`. */
  *paths(prefix = ""): Generator<string> {
    if (this.member) yield prefix;
    for (const [element, below] of this.children) yield* below.paths(prefix + inWords(element));
  }
}

/** A path element as conflicts name it. */
export function inWords(element: string): string {
  const text = element.slice(2);
  if (element.startsWith("f:")) return `.${text}`;
  if (element.startsWith("v:")) return `[=${text}]`;
  const keys = Object.entries(JSON.parse(text) as JsonObject).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `[${keys.join(",")}]`;
}
