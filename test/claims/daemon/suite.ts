// The stories of daemons and claims: CNI in, CNI out, and what stands on the API server afterwards. Run on every API server.
import { afterAll, beforeAll, describe } from "vitest";

import type { Server } from "../../node/world.ts";
import { addressStories } from "./addresses.ts";
import { choiceStories } from "./choice.ts";
import { lifeStories } from "./life.ts";
import { macStories } from "./macs.ts";
import { outageStories } from "./outages.ts";
import { ownerStories } from "./owners.ts";
import { ClaimWorld } from "./world.ts";

export type GetClaimWorld = () => ClaimWorld;

export function claimStories(name: string, start: () => Promise<Server>, timeoutMs?: number): void {
  describe(`daemons and claims on the ${name}`, () => {
    let world: ClaimWorld;
    beforeAll(async () => {
      world = await ClaimWorld.open(await start());
    }, timeoutMs);
    afterAll(() => world.close());
    const get: GetClaimWorld = () => world;

    describe("the life of an address", () => {
      lifeStories(get);
    });
    describe("which claim", () => {
      choiceStories(get);
    });
    describe("whose claim", () => {
      ownerStories(get);
    });
    describe("which address", () => {
      addressStories(get);
    });
    describe("which MAC", () => {
      macStories(get);
    });
    describe("outages", () => {
      outageStories(get);
    });
  });
}
