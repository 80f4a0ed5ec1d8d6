// The four kinds of patch, as values.

export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };

export type Patch =
  /** RFC 6902. */
  | { readonly type: "json"; readonly operations: readonly JsonPatchOperation[] }
  /** RFC 7386. */
  | { readonly type: "merge"; readonly body: object }
  /** Built-in kinds only. */
  | { readonly type: "strategic"; readonly body: object }
  /** Server-side apply: the whole of what this field manager wants. It must be named in the options. */
  | { readonly type: "apply"; readonly body: object; readonly force?: boolean };

export const patchTypes: Readonly<Record<Patch["type"], string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

/** One step of a JSON pointer, escaped by RFC 6901. */
export function pointer(...steps: readonly (string | number)[]): string {
  return steps.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
