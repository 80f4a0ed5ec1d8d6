// Stories as tests: each in a world of its own, on an API server of either kind, with the checker's verdict at its end.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { KubeClient } from "../../../src/kube/rest.ts";
import type { Server } from "../../node/fixture.ts";
import { randomEmbeddedServer } from "../random-embedded-server.ts";
import { prepare } from "../random-fixture.ts";
import { type StoryOptions, StoryFixture } from "./fixture.ts";

type Settings = Pick<StoryOptions, "cooldownMs" | "daemon">;

/** One story: its name, what happens, and what is special about its cluster. */
export type Tell = (name: string, story: (fixture: StoryFixture) => Promise<void>, settings?: Settings) => void;

/** Ten times what the slowest takes on an idle machine. */
const storyMs = 240_000;

/** Every story has an API server of its own. */
export function onEmbedded(title: string, stories: (tell: Tell) => void): void {
  describe(title, { timeout: storyMs }, () => {
    stories((name, story, settings) => {
      it(name, async () => {
        const server = await randomEmbeddedServer();
        try {
          await prepare(new KubeClient({ transport: server.transport }));
          await play({ transport: server.transport, name: "shop", number: 9, ...settings }, story);
        } finally {
          await server.stop();
        }
      });
    });
  });
}

/** One API server for all of them. */
export function onServer(title: string, start: () => Promise<Server>, startMs: number, parts: readonly Part[]): void {
  describe(title, { timeout: storyMs }, () => {
    let server: Server;
    let number = 0;
    beforeAll(async () => {
      server = await start();
      await prepare(new KubeClient({ transport: server.transport }));
    }, startMs);
    afterAll(() => server?.stop());
    const tell: Tell = (name, story, settings) => {
      it(name, async () => {
        number += 1;
        await play({ transport: server.transport, name: `shop-${number}`, number, ...settings }, story);
      });
    };
    for (const part of parts) part(tell);
  });
}

export type Part = (tell: Tell) => void;

/** One story, to the checker's verdict. */
export async function play(options: StoryOptions, story: (fixture: StoryFixture) => Promise<void>): Promise<void> {
  const fixture = await StoryFixture.open(options);
  try {
    await story(fixture);
    expect(await fixture.verdict()).toEqual([]);
  } finally {
    await fixture.close();
  }
}
