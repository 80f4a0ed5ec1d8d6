// Agents as a part of the whole controller: what a pool's status says of them, and a pool's end, agents and all.
import { afterEach, beforeEach, expect, it } from "vitest";

import * as kinds from "../../src/cluster/resources.ts";
import { assembleController } from "../../src/controller/controller.ts";
import { realClock } from "../../src/kube/clock.ts";
import { silent } from "../../src/log/log.ts";
import { until } from "../lab/wait.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, image, shop, system } from "./agents-fixture.ts";

let fixture: Fixture;
let stop: AbortController;
let ended: Promise<void>;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await installDefinitions(fixture.client);
  stop = new AbortController();
  const controller = assembleController({
    client: fixture.client,
    clock: realClock,
    log: silent,
    systemNamespace: system,
    cooldownMs: 0,
    instance: "test",
    reconcilers: ["vmnet"],
    agents: { image },
    retryMs: 20,
    pace: { mirrorMs: 10, sweepMs: 20 },
  });
  ended = controller.run(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await ended;
  await fixture.close();
});

const pool = () => fixture.client.lookUp(kinds.managedPools, { namespace: shop, name: "blue" });
const agentReady = async () => {
  const found = (await pool())?.status?.conditions?.find(({ type }) => type === "AgentReady");
  return found === undefined ? "" : `${found.status} ${found.reason ?? ""}`.trim();
};
const eventually = (what: string, check: () => Promise<boolean>) => until(check, { what, everyMs: 10 });

it("a pool says whether its agents are ready, and which of them answers at the server's address", async () => {
  await fixture.network("net");
  await fixture.pool("blue", "net");
  await eventually("agents that are not ready", async () => (await agentReady()) === "False NotReady");
  await fixture.agent("blue", "a1", true);
  await eventually("one of two", async () => (await agentReady()) === "True Degraded");
  await fixture.agent("blue", "a2", true);
  await fixture.holder("blue", "a1");
  await eventually("two of two", async () => (await agentReady()) === "True");
  await eventually("the holder", async () => (await pool())?.status?.agentPodRef?.name === "a1");
  expect((await pool())?.status?.agentPodRef).toMatchObject({ namespace: system, image });

  const body = { spec: { paused: true } };
  await fixture.client.patch(kinds.managedPools, { namespace: shop, name: "blue" }, { type: "merge", body });
  await eventually("paused", async () => (await agentReady()) === "False Paused");
});

it("a pool that is deleted takes its agents along, and then goes", async () => {
  await fixture.network("net");
  await fixture.pool("blue", "net");
  await fixture.deployed("blue");
  await eventually("labels", async () => (await fixture.labelOf("net")) === "shop/blue");
  await fixture.client.delete(kinds.managedPools, { namespace: shop, name: "blue" });
  await eventually("the pool to go", async () => (await pool()) === undefined);
  await fixture.gone("blue");
  await eventually("labels to go", async () => (await fixture.labelOf("net")) === "");
});
