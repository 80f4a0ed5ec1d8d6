import { expect, it } from "vitest";

import type { EventRecorder } from "../../kube/events/events.ts";
import { ManualClock } from "../../kube/testing/manual-clock.ts";
import type { ClaimEvent } from "../plan/steps.ts";
import { eventTeller } from "./actor.ts";

it("says once what every plan says, again after an hour, and at once what is new", async () => {
  const said: string[] = [];
  const record: EventRecorder["record"] = ({ kind, metadata }, type, reason) =>
    void said.push(`${kind} ${metadata.namespace}/${metadata.name} ${type} ${reason}`);
  const clock = new ManualClock();
  const tell = eventTeller({ record } as EventRecorder, clock);
  const event: ClaimEvent = {
    kind: "event",
    on: "claim",
    name: "vm.blue",
    uid: "c",
    reason: "Waiting",
    message: "for room",
  };
  tell("shop", event);
  tell("shop", event);
  expect(said).toEqual(["IPAMClaim shop/vm.blue Warning Waiting"]);
  tell("shop", { ...event, message: "for something else" });
  tell("shop", { ...event, on: "vm", uid: "v", name: "vm" });
  expect(said.slice(1)).toEqual(["IPAMClaim shop/vm.blue Warning Waiting", "VirtualMachine shop/vm Warning Waiting"]);
  await clock.advance(3_600_000);
  tell("shop", event);
  expect(said).toHaveLength(4);
});
