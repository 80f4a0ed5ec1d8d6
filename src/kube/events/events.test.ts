import { afterEach, describe, expect, test } from "vitest";

import type { AnyObject } from "../meta.ts";
import { defineResource } from "../resource.ts";
import { KubeClient } from "../rest.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { ManualClock, settle } from "../testing/manual-clock.ts";
import { NotSentError } from "../transport/transport.ts";
import { EventRecorder } from "./events.ts";

const eventKind = defineResource<AnyObject>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});
const pool = (uid = "u1") => ({ apiVersion: "h.io/v1", kind: "Pool", metadata: { name: "p", namespace: "a", uid } });

let end: (() => Promise<void>) | undefined;
afterEach(async () => end?.());

function started() {
  const clock = new ManualClock();
  const api = new FakeApi();
  const client = new KubeClient({ transport: api.transport, clock });
  const errors: Error[] = [];
  const onError = (error: Error) => void errors.push(error);
  const recorder = new EventRecorder({ client, component: "holdfast", instance: "host", clock, onError });
  const stop = new AbortController();
  const run = recorder.run(stop.signal);
  end = async () => {
    stop.abort();
    await run;
    expect(clock.pending).toBe(0);
    end = undefined;
  };
  const stored = async (namespace = "a") => (await client.list(eventKind, { namespace })).items;
  return { clock, api, recorder, stored, errors };
}

describe("correlation", () => {
  test("an event says what, about whom, from whom", async () => {
    const { recorder, stored } = started();
    recorder.record(pool(), "Warning", "PoolFull", "No address is left.");
    await settle(6);
    expect(await stored()).toMatchObject([
      {
        type: "Warning",
        reason: "PoolFull",
        message: "No address is left.",
        count: 1,
        involvedObject: { kind: "Pool", name: "p", namespace: "a", uid: "u1" },
        source: { component: "holdfast" },
        reportingInstance: "host",
      },
    ]);
  });

  test("of an endless message only what is written is compared and remembered", async () => {
    const { recorder, stored } = started();
    for (const last of ["a", "b"]) recorder.record(pool(), "Warning", "Failed", "x".repeat(5000) + last);
    await settle(8);
    expect(await stored()).toMatchObject([{ message: "x".repeat(1024), count: 2 }]);
  });

  test("the same again is counted in the same object", async () => {
    const { recorder, stored, clock } = started();
    for (let i = 0; i < 5; i++) {
      recorder.record(pool(), "Normal", "Given", "An address was given.");
      await clock.advance(1000);
    }
    const [event, ...others] = await stored();
    expect(others).toEqual([]);
    expect(event!["count"]).toBe(5);
    expect(event!["lastTimestamp"]).not.toBe(event!["firstTimestamp"]);
  });

  test("more than ten different messages of one reason are combined", async () => {
    const { recorder, stored, clock } = started();
    for (let i = 0; i < 20; i++) {
      recorder.record(pool(), "Normal", "Given", `Gave 10.0.0.${i}.`);
      await clock.advance(10);
    }
    const all = await stored();
    expect(all).toHaveLength(11);
    const combined = all.filter(({ message }) => String(message).startsWith("(combined"));
    expect(combined).toHaveLength(1);
    expect(combined[0]).toMatchObject({ count: 10, message: "(combined from similar events): Gave 10.0.0.19." });
  });

  test("one object may not flood, others are heard", async () => {
    const { recorder, stored, clock } = started();
    for (let i = 0; i < 100; i++) recorder.record(pool("loud"), "Normal", `Reason${i}`, "x");
    recorder.record(pool("quiet"), "Normal", "Heard", "y");
    await clock.advance(1000);
    expect(await stored()).toHaveLength(26);
    expect(recorder.dropped).toBe(75);
    await clock.advance(300_000);
    recorder.record(pool("loud"), "Normal", "Later", "z");
    await clock.advance(1000);
    expect(await stored()).toHaveLength(27);
  });

  test("about a cluster-wide object: in the default namespace", async () => {
    const { recorder, stored } = started();
    recorder.record({ kind: "Node", metadata: { name: "n" } }, "Normal", "R", "m");
    await settle(6);
    expect(await stored("default")).toHaveLength(1);
  });
});

describe("delivery", () => {
  test("a server that is away for a while gets it later; no timer is left", async () => {
    const { recorder, stored, api, clock } = started();
    api.fault = () => Promise.reject(new NotSentError("refused."));
    recorder.record(pool(), "Normal", "R", "m");
    await clock.advance(2500);
    api.fault = () => undefined;
    await clock.advance(5000);
    expect(await stored()).toHaveLength(1);
  });

  test("an answer that was lost does not make two of it", async () => {
    const { recorder, stored, api, clock } = started();
    let lost = false;
    api.afterwards = () => {
      if (lost) return;
      lost = true;
      throw new Error("reset");
    };
    recorder.record(pool(), "Normal", "R", "m");
    await clock.advance(5000);
    recorder.record(pool(), "Normal", "R", "m");
    await clock.advance(100);
    expect(await stored()).toMatchObject([{ count: 2 }]);
    expect(recorder.dropped).toBe(0);
  });

  test("one that the server forgot is told anew", async () => {
    const { recorder, stored, api, clock } = started();
    recorder.record(pool(), "Normal", "R", "m");
    await clock.advance(100);
    const [event] = await stored();
    api.remove(`/api/v1/namespaces/a/events/${event!.metadata.name}`);
    recorder.record(pool(), "Normal", "R", "m");
    await clock.advance(100);
    expect((await stored())[0]!["count"]).toBe(2);
  });

  test("one that is refused is dropped, and the next is sent", async () => {
    const { recorder, stored, api, clock, errors } = started();
    api.fault = () => Promise.resolve({ status: 403, headers: {}, body: (async function* () {})() });
    recorder.record(pool(), "Normal", "R", "m");
    await clock.advance(100);
    api.fault = () => undefined;
    recorder.record(pool(), "Normal", "Other", "m");
    await clock.advance(100);
    expect(await stored()).toHaveLength(1);
    expect([errors.length, recorder.dropped]).toEqual([1, 1]);
  });

  test("what is left at shutdown is sent", async () => {
    const { recorder, stored } = started();
    for (let i = 0; i < 5; i++) recorder.record(pool(), "Normal", `R${i}`, "m");
    await end!();
    expect(await stored()).toHaveLength(5);
  });
});
