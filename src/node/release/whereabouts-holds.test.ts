// Where addresses of whereabouts are looked for.
import { expect, it } from "vitest";

import { ApiError } from "../../kube/errors.ts";
import { playedClient } from "../../kube/testing/played-client.ts";
import { findLegacy } from "./whereabouts-holds.ts";

it("pools are looked for where they are known to be now, not where the daemon took them to be at the DEL", async () => {
  const asked = new Set<string>();
  const client = playedClient({
    get: (_: unknown, { namespace }: { readonly namespace: string }) => {
      asked.add(namespace);
      return Promise.reject(new ApiError("not-found", "no such pool"));
    },
  });
  const pool = { namespace: "kube-system", network: "", range: "10.0.0.0/24", naming: "whereabouts" };
  const intent = {
    containerId: "c1",
    interfaceName: "net1",
    targets: [],
    pools: [{ ...pool, protectsOverlaps: true }],
    cooldownMs: 0,
    sinceMs: 0,
  };
  const options = { client, coexistence: () => true, poolNamespace: () => "theirs" };
  const found = await findLegacy(options as Parameters<typeof findLegacy>[0], intent, new AbortController().signal);
  expect([found, [...asked]]).toEqual([[], ["theirs"]]);
});
