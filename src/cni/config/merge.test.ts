// The merge with the flat file against a slow oracle: leaf by leaf, the inline value unless it is zero.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { isObject, isZero, type JsonObject } from "../json.ts";
import { flatFilePaths, mergeFlatFile } from "./merge.ts";

/** Objects only where both sides have objects, as in a checked configuration: a key has one type. */
const half = fc.record(
  {
    range: fc.constantFrom("", "a", "b"),
    sleep_for_race: fc.constantFrom(0, 1, 2),
    exclude_gateway: fc.boolean(),
    enable_overlapping_ranges: fc.boolean(),
    exclude: fc.constantFrom([], ["a"], ["b", "c"]),
    kubernetes: fc.record(
      { kubeconfig: fc.constantFrom("", "k", "l"), k8s_api_root: fc.constantFrom("", "r") },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

function leaves(object: JsonObject, before = ""): Map<string, unknown> {
  const pairs = Object.entries(object).flatMap(([key, value]) =>
    isObject(value) ? [...leaves(value, `${before}${key}.`)] : [[`${before}${key}`, value] as const],
  );
  return new Map(pairs);
}

function expected(path: string, inline: unknown, flat: unknown): unknown {
  if (path === "enable_overlapping_ranges") return inline;
  if (typeof inline === "boolean") return inline;
  return isZero(inline) ? (isZero(flat) ? undefined : flat) : inline;
}

describe("mergeFlatFile", () => {
  it("takes each leaf from the side that has one", () => {
    fc.assert(
      fc.property(half, half, (inline, flat) => {
        const [a, b, merged] = [leaves(inline), leaves(flat), leaves(mergeFlatFile(inline, flat))];
        for (const path of new Set([...a.keys(), ...b.keys(), ...merged.keys()])) {
          const wanted = expected(path, a.get(path), b.get(path));
          const got = merged.get(path);
          // A zero value and a missing one are the same to whoever reads it; false is a value.
          if (wanted === undefined) expect(isZero(got)).toBe(true);
          else expect(got).toEqual(wanted);
        }
      }),
    );
  });

  it("leaves both sides as they were", () => {
    const inline = Object.freeze({ kubernetes: Object.freeze({ kubeconfig: "" }) });
    const flat = Object.freeze({ kubernetes: Object.freeze({ kubeconfig: "/k" }) });
    expect(mergeFlatFile(inline, flat)).toEqual({ kubernetes: { kubeconfig: "/k" } });
  });

  it("is looked for where whereabouts looks, a given path first", () => {
    expect(flatFilePaths("/mine")).toEqual(["/mine", ...flatFilePaths()]);
    expect(flatFilePaths()).toEqual([
      "/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf",
      "/etc/cni/net.d/whereabouts.d/whereabouts.conf",
      "/host/etc/cni/net.d/whereabouts.d/whereabouts.conf",
    ]);
  });
});
