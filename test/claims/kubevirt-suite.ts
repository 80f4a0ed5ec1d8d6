// The played KubeVirt against what was observed of the real one, on any API server: other tests rely on it.
import { afterAll, beforeAll, beforeEach, describe } from "vitest";

import type { Server } from "../node/fixture.ts";
import { KubevirtFixture } from "./kubevirt-fixture.ts";
import { lifeStories } from "./kubevirt-life.ts";
import { moveStories } from "./kubevirt-moves.ts";

/** `isShort`: without migrations and hot-plug. */
export function kubevirtStories(title: string, start: () => Promise<Server>, startMs?: number, isShort = false): void {
  describe(`KubeVirt, played on the ${title}`, () => {
    let server: Server;
    let fixture: KubevirtFixture;
    beforeAll(async () => {
      server = await start();
      await KubevirtFixture.prepare(server);
    }, startMs);
    afterAll(() => server?.stop());
    beforeEach(() => void (fixture = new KubevirtFixture(server)));
    const get = () => fixture;

    lifeStories(get);
    if (!isShort) moveStories(get);
  });
}
