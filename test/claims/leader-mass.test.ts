// VMs that are gone all at once, as a leader finds them that comes back: nothing is freed until somebody says so.
import { afterEach, beforeEach, it } from "vitest";

import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Stage } from "./leader-stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open(await embeddedServer());
  await stage.define("blue");
});
afterEach(() => stage.close());

it(
  "claims of most VMs: none ends, and it is said; a VM that lives is served; the operator's word frees them",
  { timeout: 240_000 },
  async () => {
    const first = stage.lead();
    const machines = await Promise.all(Array.from({ length: 60 }, (_, index) => stage.started(`vm${index}`)));
    await until(async () => (await stage.books()).length === 60, { what: "60 addresses" });
    await first.kill();
    for (const machine of machines.slice(1)) await stage.kubevirt.delete(machine);
    const second = stage.lead();
    await until(async () => (await second.metric("holdfast_claims_held_back")) === 1, { what: "the breaker" });
    await until(async () => (await stage.events()).some((each) => each.includes("ClaimsHeldBack")), {
      what: "the event",
    });
    await stage.started("late");
    await until(async () => (await stage.books()).length === 61, { what: "a new VM's address" });
    await second.stop();
    stage.lead({ allowMassRelease: true });
    await until(async () => (await stage.books()).length === 2, { what: "all but the two that live to be freed" });
  },
);
