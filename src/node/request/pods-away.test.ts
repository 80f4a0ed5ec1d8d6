// Whether a pod must be known before it gets an address: with the API server away, only where nothing depends on it.
// And whose definition it goes by: for a range that may become a domain of its own, no answer is no word.
import { describe, expect, it } from "vitest";

import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { realClock } from "../../kube/clock.ts";
import { silent } from "../../log/log.ts";
import type { DaemonContext } from "../context.ts";
import { configLoader } from "./configurations.ts";
import { type FindPod, type PodFacts, podOf } from "./pods.ts";

const loadedWith = (ipam: object) =>
  configLoader(
    async () => undefined,
    silent,
  )(JSON.stringify({ cniVersion: "1.0.0", name: "net", type: "x", ipam: { type: "holdfast", ...ipam } }));
const args = { podNamespace: "shop", podName: "db-0", podUid: "u" };
const sliced = { range: "10.0.0.0/16", node_slice_size: "/24" };

it.each([
  ["of slices alone", sliced, false, "unknown"],
  ["of slices, sticky", { ...sliced, floating_slice_size: "/24", sticky: "statefulset" }, false, "away"],
  ["of slices, where tenants are kept apart", sliced, true, "away"],
  ["of a shared range", { range: "10.0.0.0/16" }, false, "away"],
])("a network %s, the API server away", async (_what, ipam, isolated, expected) => {
  const loaded = await loadedWith(ipam);
  const parts = {
    sliced: { isWhole: () => "node_slice_size" in ipam },
    isolation: { isolated },
    findPod: () => Promise.reject(new Error("away")),
    clock: realClock,
    log: silent,
  } as unknown as DaemonContext;
  const found = podOf(parts, { args } as AttachmentInvocation, loaded, new AbortController().signal);
  expect(
    await found.then(
      (pod) => pod ?? "unknown",
      (error: Error) => error.message,
    ),
  ).toBe(expected);
});

// On eth0 an interface without a selection is the node's own, which may make a domain; elsewhere nobody's.
describe.each(["eth0", "net1"])(
  "the second look at a pod whose informer knows no definition of %s",
  (interfaceName) => {
    const known = { namespace: "shop", name: "db-0", uid: "u", annotations: {} };
    const looked = async (isCheck: boolean, ipam: object, fresh: () => Promise<unknown>, signal: AbortSignal) => {
      const findPod: FindPod = async ({ isFresh = false }) => (isFresh ? fresh() : known) as Promise<PodFacts>;
      const parts = { sliced: { isWhole: () => false }, isolation: { isolated: false }, findPod, clock: realClock };
      const context = { ...parts, log: silent } as unknown as DaemonContext;
      const invocation = { args, interfaceName } as AttachmentInvocation;
      return podOf(context, invocation, await loadedWith(ipam), signal, { isCheck });
    };
    const alone = { range: "10.0.0.0/16", enable_overlapping_ranges: false };
    const away = () => Promise.reject(new Error("away"));
    const calm = new AbortController().signal;

    it("fails: an ADD fails with it, where the range may be a domain of its own, and a CHECK goes by what is known", async () => {
      await expect(looked(false, alone, away, calm)).rejects.toThrow("away");
      expect(await looked(true, alone, away, calm)).toBe(known);
      expect(await looked(false, { range: "10.0.0.0/16" }, away, calm)).toBe(known);
    });

    it("is called off: so are ADD and CHECK", async () => {
      for (const isCheck of [false, true]) {
        const stop = new AbortController();
        const off = () => {
          stop.abort(new Error("called off"));
          return away();
        };
        await expect(looked(isCheck, alone, off, stop.signal)).rejects.toThrow(isCheck ? "called off" : "away");
      }
    });
  },
);
