// What the leader follows, against a server in memory: when it is lost, and so all is listed anew.
import { expect, it } from "vitest";

import { ManualClock, settle } from "../kube/manual-clock.ts";
import { KubeClient } from "../kube/rest.ts";
import { FakeApi } from "../kube/testing/fake-api.ts";
import { status } from "../kube/testing/fake-transport.ts";
import { SliceWorld } from "./world.ts";

async function followed(prepare: (api: FakeApi) => void = () => {}) {
  const clock = new ManualClock();
  const api = new FakeApi();
  prepare(api);
  let losses = 0;
  const world = new SliceWorld(
    {
      client: new KubeClient({ transport: api.transport, clock }),
      clock,
      systemNamespace: "kube-system",
      onError: () => {},
      onLost: () => void (losses += 1),
    },
    { slice: () => {}, pool: () => {}, lease: () => {} },
  );
  const end = new AbortController();
  const { ended } = world.run(end.signal);
  await settle();
  return { api, clock, losses: () => losses, stop: () => (end.abort(), ended) };
}

it("a watch that was open and broke is a server that may come back with another history", async () => {
  const { api, losses, stop } = await followed();
  expect([api.watchers, losses()]).toEqual([3, 0]);
  api.cutWatches(new Error("reset"));
  await settle();
  expect(losses()).toBe(3);
  await stop();
});

it.each([429, 503, 410])(
  "a watch that the server does not open (%i) is tried again, and nothing is lost",
  async (code) => {
    const { api, clock, losses, stop } = await followed((each) => {
      each.fault = ({ path }) => (path.includes("watch=true") ? status(code, "Busy") : undefined);
    });
    await clock.advance(60_000);
    expect([api.watchers, losses()]).toEqual([0, 0]);
    api.fault = () => undefined;
    await clock.advance(120_000);
    expect([api.watchers, losses()]).toEqual([3, 0]);
    await stop();
  },
);
