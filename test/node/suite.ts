// The stories of the daemon: JSON in, JSON out, and what stands on the API server afterwards. Run on every API server.
import { afterAll, beforeAll, describe } from "vitest";

import { adoptionStories } from "./stories/adoption.ts";
import { attachmentStories } from "./stories/attachments.ts";
import { besideStories } from "./stories/beside.ts";
import { burstStories } from "./stories/bursts.ts";
import { garbageStories } from "./stories/garbage.ts";
import { keptStories } from "./stories/kept.ts";
import { multusStories } from "./stories/multus.ts";
import { networkStories } from "./stories/networks.ts";
import { overlayStories } from "./stories/overlays.ts";
import { quotaStories } from "./stories/quotas.ts";
import { staticStories } from "./stories/statics.ts";
import { stickyStories } from "./stories/sticky.ts";
import { upkeepStories } from "./stories/upkeep.ts";
import { versionStories } from "./stories/versions.ts";
import { type Server, World } from "./world.ts";

export type GetWorld = () => World;

export function nodeStories(name: string, start: () => Promise<Server>, timeoutMs?: number): void {
  describe(`the node daemon on the ${name}`, () => {
    let world: World;
    beforeAll(async () => {
      world = await World.open(await start());
    }, timeoutMs);
    afterAll(() => world.close());
    const get: GetWorld = () => world;

    describe("CNI versions", () => {
      versionStories(get);
    });
    describe("attachments", () => {
      attachmentStories(get);
    });
    describe("static addresses", () => {
      staticStories(get);
    });
    describe("networks", () => {
      networkStories(get);
    });
    describe("networks of OVN", () => {
      overlayStories(get);
    });
    describe("what whereabouts gave", () => {
      adoptionStories(get);
    });
    describe("beside whereabouts", () => {
      besideStories(get);
    });
    describe("quotas", () => {
      quotaStories(get);
    });
    describe("sticky addresses", () => {
      stickyStories(get);
    });
    describe("what Multus sends", () => {
      multusStories(get);
    });
    describe("DELs that the plugin kept", () => {
      keptStories(get);
    });
    describe("what nobody should send", () => {
      garbageStories(get);
    });
    describe("many at once", () => {
      burstStories(get);
    });
    describe("GC, STATUS, pause", () => {
      upkeepStories(get);
    });
  });
}
