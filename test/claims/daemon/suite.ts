// The stories of daemons and claims: CNI in, CNI out, and the API server's objects afterwards. Run on every API server.
import { afterAll, beforeAll, describe } from "vitest";

import type { Server } from "../../node/fixture.ts";
import { addressStories } from "./addresses.ts";
import { atOnceStories } from "./at-once.ts";
import { choiceStories } from "./choice.ts";
import { ClaimFixture } from "./fixture.ts";
import { lifeStories } from "./life.ts";
import { macStories } from "./macs.ts";
import { outageStories } from "./outages.ts";
import { ownerStories } from "./owners.ts";

export type GetClaimFixture = () => ClaimFixture;

const stories = {
  "the life of an address": lifeStories,
  "at once": atOnceStories,
  "which claim": choiceStories,
  "whose claim": ownerStories,
  "which address": addressStories,
  "which MAC": macStories,
  outages: outageStories,
};
type Part = keyof typeof stories;
const all = Object.keys(stories) as Part[];

/** `parts`: all of them, unless it says otherwise. */
export function claimStories(
  name: string,
  start: () => Promise<Server>,
  { timeoutMs, parts = all }: { readonly timeoutMs?: number; readonly parts?: readonly Part[] | undefined } = {},
): void {
  describe(`daemons and claims on the ${name}`, () => {
    let fixture: ClaimFixture;
    beforeAll(async () => {
      fixture = await ClaimFixture.open(await start());
    }, timeoutMs);
    afterAll(() => fixture.close());
    const get: GetClaimFixture = () => fixture;

    for (const part of parts) {
      describe(part, () => {
        stories[part](get);
      });
    }
  });
}
