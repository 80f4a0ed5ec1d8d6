// Which parts ranges get: a slow oracle beside the colouring.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fromBigInt } from "../../net/address.ts";
import { contains, parsePrefix, Prefix } from "../../net/prefix.ts";
import { partsOf } from "./overlap-index.ts";

const prefixes = (...texts: string[]) => texts.map((text) => parsePrefix(text));

describe("parts", () => {
  it.each([
    ["apart", ["10.0.0.0/24", "10.0.1.0/24", "fd00::/64"], [0, 0, 0]],
    ["the same thrice", ["10.0.0.0/24", "10.0.0.0/24", "10.0.0.0/24"], [0, 1, 2]],
    ["nested, and beside", ["10.0.0.0/16", "10.0.0.0/24", "10.0.1.0/24", "10.0.0.0/25"], [0, 1, 1, 2]],
  ])("%s", (_what, texts, parts) => {
    expect(partsOf(prefixes(...texts))).toEqual(parts);
  });

  it("two ranges that share an address never share a part, and a part is used only where it is needed", () => {
    const prefix = fc
      .tuple(fc.bigInt(0n, 255n), fc.integer({ min: 24, max: 32 }))
      .map(([low, length]) => Prefix.around(fromBigInt(4, 0x0a000000n + low), length));
    fc.assert(
      fc.property(fc.array(prefix, { maxLength: 12 }), (list) => {
        const parts = partsOf(list);
        for (const [i, a] of list.entries()) {
          const rivals = list
            .slice(0, i)
            .flatMap((b, j) => (contains(a, b.network) || contains(b, a.network) ? [parts[j]!] : []));
          expect(rivals).not.toContain(parts[i]);
          for (let lower = 0; lower < parts[i]!; lower++) expect(rivals).toContain(lower);
        }
      }),
    );
  });
});
