// Whether a pod must be known before it gets an address: with the API server away, only where nothing depends on it.
import { expect, it } from "vitest";

import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { realClock } from "../../kube/clock.ts";
import { silent } from "../../log/log.ts";
import type { DaemonContext } from "../context.ts";
import { configLoader } from "./configurations.ts";
import { podOf } from "./pods.ts";

const sliced = { range: "10.0.0.0/16", node_slice_size: "/24" };

it.each([
  ["of slices alone", sliced, false, "unknown"],
  ["of slices, sticky", { ...sliced, floating_slice_size: "/24", sticky: "statefulset" }, false, "away"],
  ["of slices, where tenants are kept apart", sliced, true, "away"],
  ["of a shared range", { range: "10.0.0.0/16" }, false, "away"],
])("a network %s, the API server away", async (_what, ipam, isolated, expected) => {
  const loaded = await configLoader(
    async () => undefined,
    silent,
  )(JSON.stringify({ cniVersion: "1.0.0", name: "net", type: "x", ipam: { type: "holdfast", ...ipam } }));
  const parts = {
    sliced: { isWhole: () => "node_slice_size" in ipam },
    isolation: { isolated },
    findPod: () => Promise.reject(new Error("away")),
    clock: realClock,
    log: silent,
  } as unknown as DaemonContext;
  const args = { podNamespace: "shop", podName: "db-0", podUid: "u" };
  const found = podOf(parts, { args } as AttachmentInvocation, loaded, new AbortController().signal);
  expect(
    await found.then(
      (pod) => pod ?? "unknown",
      (error: Error) => error.message,
    ),
  ).toBe(expected);
});
