// A long story of one pool, told the same way by Node and by a browser: what it returns must be equal to the letter.
import { decide } from "../../src/ipam/decide.ts";
import type { Owner } from "../../src/ipam/owner.ts";
import { Pool } from "../../src/ipam/pool.ts";
import { formatTrace } from "../../src/ipam/trace.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parseBlock, parseRange } from "../../src/net/interval.ts";
import { parseMac } from "../../src/net/mac.ts";

export function tellStory(steps: number): string[] {
  const lines = [String(parseAddress("2001:DB8::0:1")), parseMac("02-00-0A-00-00-07")];
  for (const text of ["10.0.0.0/24", "fd00::/64"]) {
    let nowMs = 0;
    let state = 1;
    const random = () => (state = (state * 48_271) % 0x7fff_ffff) / 0x7fff_ffff;
    const { prefix } = parseRange(text);
    const pool = new Pool(
      { prefix, excludes: [parseBlock("10.0.0.64/26"), parseBlock("fd00::10-fd00::ff")] },
      () => nowMs,
    );
    for (let i = 0; i < steps; i++) {
      nowMs += 500;
      const owner: Owner = { kind: "claim", uid: `u${Math.floor(random() * 300)}`, namespace: "n", name: "c" };
      if (random() < 0.4) {
        lines.push(`free ${String(pool.releaseOwner(owner)?.address)}`);
        continue;
      }
      const strategy =
        random() < 0.5 ? ({ kind: "lowest" } as const) : ({ kind: "spread", stripes: 8, first: 3, step: 5 } as const);
      const decision = decide(pool, { owner, strategy }, random);
      lines.push(
        decision.kind === "grant" ? `${decision.address} ${decision.why} ${decision.early}` : decision.message,
      );
      if (decision.kind === "grant") pool.take(decision.address, owner);
    }
    const last: Owner = { kind: "claim", uid: "last", namespace: "n", name: "c" };
    lines.push(...formatTrace(decide(pool, { owner: last }, random).trace()), String(pool.counts().free));
  }
  return lines;
}
