// The played KubeVirt against what was observed of the real one, on any API server: other tests rely on it.
import { afterAll, beforeAll, beforeEach, describe } from "vitest";

import type { Server } from "../node/world.ts";
import { lifeStories } from "./kubevirt-life.ts";
import { moveStories } from "./kubevirt-moves.ts";
import { KubevirtStage } from "./kubevirt-stage.ts";

/** `isShort`: without migrations and hot-plug. */
export function kubevirtStories(title: string, start: () => Promise<Server>, startMs?: number, isShort = false): void {
  describe(`KubeVirt, played on the ${title}`, () => {
    let server: Server;
    let stage: KubevirtStage;
    beforeAll(async () => {
      server = await start();
      await KubevirtStage.prepare(server);
    }, startMs);
    afterAll(() => server?.stop());
    beforeEach(() => void (stage = new KubevirtStage(server)));
    const get = () => stage;

    lifeStories(get);
    if (!isShort) moveStories(get);
  });
}
