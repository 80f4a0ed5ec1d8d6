// The order of stripes against a slow oracle: all free addresses, sorted by the words of request.ts.
import fc from "fast-check";
import { expect, it } from "vitest";

import { parseAddress } from "../net/address.ts";
import { parsePrefix } from "../net/prefix.ts";
import type { Owner } from "./owner.ts";
import { Pool } from "./pool.ts";
import type { Spread } from "./request.ts";
import { firstOffer, offerAfter } from "./strategy.ts";

const owner: Owner = { kind: "pod", uid: "u", namespace: "d", name: "n", interface: "eth0" };

/** Every turn goes on where the one before began, one stripe further; a stripe that has none left is passed over. */
function slowly(free: readonly number[], { stripes, first, step }: Spread): number[] {
  let count = 1;
  while (count < stripes) count *= 2;
  const odd = step % 2 === 0 ? step + 1 : step;
  const stripeOf = (at: number) => (((first + at * odd) % count) + count) % count;
  const left = new Set(free);
  const offered: number[] = [];
  for (let turn = 0; left.size > 0; turn++) {
    let found: number | undefined;
    for (let at = turn; found === undefined; at++) {
      found = [...left].toSorted((a, b) => a - b).find((host) => host % count === stripeOf(at));
    }
    left.delete(found);
    offered.push(found);
  }
  return offered;
}

const spreads = fc.record({
  kind: fc.constant("spread" as const),
  stripes: fc.integer({ min: 1, max: 40 }),
  first: fc.integer({ min: -1000, max: 1000 }),
  step: fc.integer({ min: -1000, max: 1000 }),
});

it.each([
  ["10.0.0.0/26", (host: number) => `10.0.0.${host}`],
  ["fd00::/122", (host: number) => `fd00::${host.toString(16)}`],
])("spread in %s offers every free address once, in the order of its stripes", (range, addressOf) => {
  const hosts = fc.uniqueArray(fc.integer({ min: 1, max: 62 }), { maxLength: 62 });
  fc.assert(
    fc.property(spreads, hosts, (strategy, taken) => {
      const pool = new Pool({ prefix: parsePrefix(range), cooldownMs: 0 }, () => 0);
      for (const host of [...taken, 63]) {
        pool.take(parseAddress(addressOf(host)), { ...owner, uid: `u${host}` });
      }
      const free = Array.from({ length: 62 }, (_, index) => index + 1).filter((host) => !taken.includes(host));
      const offering = { pool, strategy, owner, random: () => 0 };
      const first = firstOffer(offering);
      const all = first === undefined ? [] : [first, ...offerAfter(first, offering)];
      expect(all.map(String)).toEqual(slowly(free, strategy).map((host) => String(parseAddress(addressOf(host)))));
    }),
  );
});
