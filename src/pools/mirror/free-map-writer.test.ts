import { beforeEach, describe, expect, it } from "vitest";

import { KubeClient } from "../../kube/rest.ts";
import { parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { poolOf } from "../leaks/testing/values.ts";
import { FreeMapWriter, renewMs } from "./free-map-writer.ts";

const { signal } = new AbortController();
const prefix = parsePrefix("10.0.0.0/24");
const addresses = (count: number) => Array.from({ length: count }, (_, index) => parseAddress(`10.0.0.${index + 1}`));
const factsOf = (count: number) => ({ pool: poolOf("10.0.0.0/24"), prefix, taken: addresses(count), holders: count });

/** Answers everything with this. */
function clientOf(status: number, answer: object, onCall: () => void): KubeClient {
  return new KubeClient({
    transport: async () => {
      onCall();
      const body = (async function* () {
        yield new TextEncoder().encode(JSON.stringify(answer));
      })();
      return { status, headers: {}, body };
    },
  });
}

it("where it may not be written there is none, and it is tried again only when it would be renewed", async () => {
  let [calls, now] = [0, 0];
  const status = { kind: "Status", code: 403, reason: "Forbidden", message: "not here" };
  const client = clientOf(403, status, () => (calls += 1));
  const writer = new FreeMapWriter(client, () => now);
  const facts = factsOf(1);
  expect(await writer.write(facts, signal)).toMatchObject({ isWritten: false });
  now = renewMs - 1;
  expect(await writer.write(facts, signal)).toMatchObject({ isWritten: false });
  expect(calls).toBe(1);
  now = renewMs;
  expect(await writer.write(facts, signal)).toMatchObject({ isWritten: false });
  expect(calls).toBe(2);
  await writer.remove("kube-system/10.0.0.0-24", signal);
});

describe("a map that has changed", () => {
  let now: number;
  let writer: FreeMapWriter;
  beforeEach(() => {
    now = 0;
    const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "map" } };
    writer = new FreeMapWriter(
      clientOf(200, object, () => {}),
      () => now,
    );
  });
  const write = (count: number, domain?: string) => writer.write({ ...factsOf(count), domain }, signal);

  it("is written at once for the first time, and when an eighth of what is free has changed since", async () => {
    expect(await write(0)).toEqual({ isWritten: true, dueMs: renewMs });
    now = 1000;
    expect(await write(28)).toEqual({ isWritten: false, dueMs: 4000 });
    expect(await write(29)).toEqual({ isWritten: true, dueMs: renewMs }); // of 227
    expect(await write(240)).toMatchObject({ isWritten: true });
    expect(await write(241)).toMatchObject({ isWritten: false });
    expect(await write(242)).toMatchObject({ isWritten: true }); // 2 of 14
  });

  it("waits five seconds for what else changes, and is renewed where nothing does", async () => {
    await write(1);
    now = 2000;
    expect(await write(3)).toEqual({ isWritten: false, dueMs: 3000 });
    now = 5000;
    expect(await write(4)).toEqual({ isWritten: true, dueMs: renewMs });
    now = 10_000;
    expect(await write(4)).toEqual({ isWritten: false, dueMs: renewMs - 5000 });
  });

  it("is written at once when the leader's clock was set back: a map of the future would be believed until then", async () => {
    now = 1_800_000;
    await write(1);
    now = 1000;
    expect(await write(2)).toEqual({ isWritten: true, dueMs: renewMs });
  });

  it("is written at once when the pool is adopted", async () => {
    await write(1);
    expect(await write(1, "network:")).toMatchObject({ isWritten: true });
  });
});
