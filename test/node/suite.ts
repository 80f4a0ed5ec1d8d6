// The stories of the daemon: JSON in, JSON out, and what stands on the API server afterwards. Run on every API server.
import { afterAll, beforeAll, describe } from "vitest";

import { type Server, Fixture } from "./fixture.ts";
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

export type GetFixture = () => Fixture;

const stories = {
  "CNI versions": versionStories,
  attachments: attachmentStories,
  "static addresses": staticStories,
  networks: networkStories,
  "networks of OVN": overlayStories,
  "what whereabouts gave": adoptionStories,
  "beside whereabouts": besideStories,
  quotas: quotaStories,
  "sticky addresses": stickyStories,
  "what Multus sends": multusStories,
  "DELs that the plugin kept": keptStories,
  "what nobody should send": garbageStories,
  "many at once": burstStories,
  "GC, STATUS, pause": upkeepStories,
};
type Part = keyof typeof stories;
const all = Object.keys(stories) as Part[];

/** `parts`: all of them, unless it says otherwise. */
export function nodeStories(
  name: string,
  start: () => Promise<Server>,
  { timeoutMs, parts = all }: { readonly timeoutMs?: number; readonly parts?: readonly Part[] | undefined } = {},
): void {
  describe(`the node daemon on the ${name}`, () => {
    let fixture: Fixture;
    beforeAll(async () => {
      fixture = await Fixture.open(await start());
    }, timeoutMs);
    afterAll(() => fixture.close());
    const get: GetFixture = () => fixture;

    for (const part of parts) {
      describe(part, () => {
        stories[part](get);
      });
    }
  });
}
