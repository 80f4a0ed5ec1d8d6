import { expect, it } from "vitest";

import { KubeClient } from "../../kube/rest.ts";
import { parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { poolOf } from "../leaks/testing/values.ts";
import { FreeMapWriter, renewMs } from "./free-map-writer.ts";

it("where it may not be written there is none, and it is tried again only when it would be renewed", async () => {
  let [calls, now] = [0, 0];
  const status = JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: "not here" });
  const client = new KubeClient({
    transport: async () => {
      calls += 1;
      const body = (async function* () {
        yield new TextEncoder().encode(status);
      })();
      return { status: 403, headers: {}, body };
    },
  });
  const writer = new FreeMapWriter(client, () => now);
  const facts = {
    pool: poolOf("10.0.0.0/24"),
    prefix: parsePrefix("10.0.0.0/24"),
    taken: [parseAddress("10.0.0.5")],
    holders: 1,
  };
  const { signal } = new AbortController();
  expect(await writer.write(facts, signal)).toBe(false);
  now = renewMs - 1;
  expect(await writer.write(facts, signal)).toBe(false);
  expect(calls).toBe(1);
  now = renewMs;
  expect(await writer.write(facts, signal)).toBe(false);
  expect(calls).toBe(2);
  await writer.remove("kube-system/10.0.0.0-24", signal);
});
