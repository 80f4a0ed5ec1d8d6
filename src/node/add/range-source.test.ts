// The story: one network, asked for while its range is shared, being cut, sliced, and shared again.
import { describe, expect, it, test } from "vitest";

import { formatDomain } from "../../api/pools/domain.ts";
import type { SlicedRange } from "../../cluster/sliced-ranges.ts";
import { CniError } from "../../cni/error.ts";
import { parseAddress } from "../../net/address.ts";
import { formatInterval } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { sourceOf, type SourceInput, withOwn } from "./range-source.ts";

const range = parsePrefix("10.0.0.0/16");
const sliced = (rest: Partial<SlicedRange> = {}): SlicedRange => ({
  namespace: "kube-system",
  network: "blue",
  range,
  pool: "blue",
  phase: "open",
  blocks: [],
  ...rest,
});

type Input = Partial<Omit<SourceInput, "sliced">> & { readonly sliced?: readonly SlicedRange[] | undefined };

/** `sliced: undefined`: the leader's word is not known. */
function source({ sliced: ranges, ...rest }: Input & { readonly sliced: readonly SlicedRange[] | undefined }): string {
  try {
    const found = sourceOf({
      range: { prefix: range },
      namespace: "kube-system",
      network: "blue",
      sliced: ranges === undefined ? { ranges: [], unknown: "not told" } : { ranges, unknown: "" },
      isSticky: false,
      ...rest,
    });
    if (found.kind === "slice") return `slice of ${found.use.network} ${found.use.range}`;
    const excludes = found.excludes.map(formatInterval).join(" ");
    return `${found.kind}${found.kind === "floating" ? ` ${found.block}` : ""}${excludes === "" ? "" : ` without ${excludes}`}`;
  } catch (error) {
    if (error instanceof CniError) return `code ${error.code}`;
    throw error;
  }
}

const size = { prefix: range, sliceLength: 24 };
const plain = { prefix: range };
const floating = parsePrefix("10.0.240.0/20");

describe("a range", () => {
  test.each<[string, Input, string]>([
    ["is shared where nobody cuts it", {}, "shared"],
    ["is nobody's to give while it is not known what is cut", { sliced: undefined }, "code 11"],
    [
      "is a slice where the configuration says so, whatever is known",
      { range: size, sliced: undefined },
      "slice of blue 10.0.0.0/16",
    ],
    ["the same before the leader speaks of it", { range: size }, "slice of blue 10.0.0.0/16"],
    ["waits while it is being cut", { range: plain, sliced: [sliced({ phase: "closing" })] }, "code 11"],
    [
      "is a slice for a definition that still lacks the size",
      { range: plain, sliced: [sliced()] },
      "slice of blue 10.0.0.0/16",
    ],
    [
      "is shared again but for what is not sealed",
      { range: plain, sliced: [sliced({ phase: "opening", blocks: [parsePrefix("10.0.3.0/24")] })] },
      "shared without 10.0.3.0-10.0.3.255",
    ],
    [
      "is shared again for a definition that still has the size",
      { range: size, sliced: [sliced({ phase: "opening" })] },
      "shared",
    ],
    [
      "leaves a sliced range inside it alone",
      { range: { prefix: parsePrefix("10.0.0.0/8") }, sliced: [sliced()] },
      "shared without 10.0.0.0-10.0.255.255",
    ],
    ["has nothing to do with another network's", { sliced: [sliced({ network: "red" })] }, "shared"],
    ["nor with another namespace's", { sliced: [sliced({ namespace: "tenant" })] }, "shared"],
    ["nor with one that lies beside it", { sliced: [sliced({ range: parsePrefix("10.1.0.0/16") })] }, "shared"],
  ])("%s", (_, input, expected) => expect(source({ sliced: [], ...input })).toBe(expected));
});

describe("an address that must follow its owner", () => {
  const rest = "10.0.0.0-10.0.239.255";
  test.each<[string, Input, string]>([
    [
      "comes from the floating part",
      { isSticky: true, sliced: [sliced({ floating })] },
      `floating ${floating} without ${rest}`,
    ],
    ["cannot come from a slice", { isSticky: true, range: size }, "code 7"],
    ["waits until the floating part is known", { isSticky: true, range: size, sliced: undefined }, "code 11"],
    [
      "comes from there where its number is there",
      { asked: parseAddress("10.0.240.7"), sliced: [sliced({ floating })] },
      `floating ${floating} without ${rest}`,
    ],
    [
      "comes from a slice where its number is not",
      { asked: parseAddress("10.0.3.7"), sliced: [sliced({ floating })] },
      "slice of blue 10.0.0.0/16",
    ],
  ])("%s", (_, input, expected) => expect(source({ sliced: [], ...input })).toBe(expected));

  it("shares a range that is not sliced, as ever", () => expect(source({ sliced: [], isSticky: true })).toBe("shared"));
});

describe("what the node's own journal says counts beside the leader's word", () => {
  const grant = {
    key: "kube-system/blue-a-10.0.3.0-24",
    domain: formatDomain({ scope: "slice", namespace: "kube-system", name: "blue" }),
    namespace: "kube-system",
    network: "blue",
    range,
    slice: parsePrefix("10.0.3.0/24"),
    generation: 1,
    serial: 1,
    phase: "active",
    without: [],
    taken: [],
    sealed: false,
    moved: [],
  } as const;
  const after = (told: readonly SlicedRange[], grants = [grant]) => source({ sliced: withOwn(told, grants) });

  test.each<[string, string, string]>([
    ["a range that it has a grant of is sliced, though nobody tells so", after([]), "slice of blue 10.0.0.0/16"],
    [
      "what is not sealed is not shared, though nobody says that it is a slice",
      after([sliced({ phase: "opening" })]),
      "shared without 10.0.3.0-10.0.3.255",
    ],
    ["what is sealed says nothing", after([], [{ ...grant, sealed: true as false }]), "shared"],
  ])("%s", (_, found, expected) => expect(found).toBe(expected));
});
