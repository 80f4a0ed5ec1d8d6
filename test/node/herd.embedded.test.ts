// What one daemon asks of an API server that is overloaded: every daemon of the cluster asks the same.
import { afterEach, beforeEach, expect, it } from "vitest";

import { type Api, openApi } from "../../src/apiserver/api.ts";
import { configMaps } from "../../src/cluster/resources.ts";
import { stateObject } from "../../src/cluster/testing/state.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { given, network, pod, Fixture } from "./fixture.ts";

const state = { namespace: "kube-system", name: "holdfast-state" };
let api: Api;
let fixture: Fixture;
/** Lists of holds since the test began to count. */
let lists: string[];
let isOverloaded: boolean;

const transport: Transport = async (request) => {
  const isList = request.method === "GET" && /\/(overlappingrangeipreservations|holds)\?/.test(request.path);
  if (!isList) return api.transport(request);
  lists.push(request.path);
  if (!isOverloaded) return api.transport(request);
  const details = { retryAfterSeconds: 10 };
  const status = { kind: "Status", status: "Failure", reason: "TooManyRequests", code: 429, message: "later", details };
  const body = (async function* () {
    yield new TextEncoder().encode(JSON.stringify(status));
  })();
  return { status: 429, headers: { "retry-after": "10", "content-type": "application/json" }, body };
};

beforeEach(async () => {
  [lists, isOverloaded] = [[], false];
  api = openApi({ path: ":memory:" });
  fixture = await Fixture.open({ transport: api.transport, stop: async () => api.close() });
  if ((await fixture.admin.lookUp(configMaps, state)) === undefined) {
    const { metadata, data } = stateObject("kube-system", { coexistence: false, why: "", paused: "" });
    const sliced = JSON.stringify({ version: 1, ranges: [] });
    await fixture.admin.create(configMaps, { metadata, data: { ...data, sliced } });
  }
});
afterEach(() => fixture.close());

const seconds = (count: number) => new Promise((resolve) => setTimeout(resolve, count * 1000));
const paused = (text: string) =>
  fixture.admin.patch(configMaps, state, { type: "merge", body: { data: { paused: text } } } as const);

it("a pause costs one list when it is over, and the server's Retry-After is obeyed", async () => {
  // Its own moment after the pause is two seconds on, of the ten that few daemons spread over.
  const daemonFixture = await fixture.daemon({ transport, random: () => 0.2 });
  const config = network("herd", { range: "10.30.0.0/24", network_name: "herd" });
  await given(daemonFixture, { ...pod("a"), config });
  await paused("a test");
  await expect
    .poll(async () => (await daemonFixture.ask({ command: "ADD", ...pod("b"), config })).text)
    .toContain("a test");
  lists = [];
  await seconds(3);
  expect(lists, "while it lasts").toEqual([]);
  isOverloaded = true;
  await paused("");
  await expect.poll(() => lists.length, { timeout: 10_000 }).toBe(1);
  await seconds(8);
  expect(lists, "the server asked for 10 s").toHaveLength(1);
  isOverloaded = false;
  await expect
    .poll(async () => (await daemonFixture.ask({ command: "ADD", ...pod("b"), config })).status, { timeout: 30_000 })
    .toBe(0);
  // Of what this node holds one list of either kind, and one of the namespace for the pool.
  expect(lists.length).toBeLessThanOrEqual(5);
});
