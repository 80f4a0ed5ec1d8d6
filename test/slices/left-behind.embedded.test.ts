// What a fenced node's mirror shows is recorded before its slice goes, or the slice stays.
import { afterEach, beforeEach, expect, it } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { ipPools, reservations } from "../../src/cluster/resources.ts";
import { sliceMarks, sliceName } from "../../src/cluster/slice-object.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { ApiResponse } from "../../src/kube/transport/transport.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import type { ReservedAddresses } from "../../src/slices/reserved-addresses.ts";
import { recordLeft } from "../../src/slices/writers/left-behind.ts";
import { installDefinitions } from "../ledger/definitions.ts";

const namespace = "kube-system";
const place = {
  namespace,
  network: "net",
  pool: "net",
  node: "n1",
  range: parsePrefix("10.0.0.0/24"),
  block: parsePrefix("10.0.0.0/28"),
};
const { signal } = new AbortController();

let api: ReturnType<typeof openApi>;
let client: KubeClient;
let refreshed = 0;
/** Causes of the 403 that new objects of the kind are answered with; undefined: they are made. */
let causes: readonly object[] | undefined;
let refusedKind = "";

beforeEach(async () => {
  api = openApi({ path: ":memory:" });
  await installDefinitions(new KubeClient({ transport: api.transport }));
  refreshed = 0;
  causes = undefined;
  client = new KubeClient({
    transport: async (request) => {
      const isMaking = request.method === "POST" && request.path.includes(`/${refusedKind}`);
      return isMaking && causes !== undefined ? refusal(causes) : api.transport(request);
    },
  });
});
afterEach(() => api.close());

function refusal(because: readonly object[]): ApiResponse {
  const status = { kind: "Status", code: 403, reason: "Forbidden", message: "not here", details: { causes: because } };
  const body = (async function* () {
    yield new TextEncoder().encode(JSON.stringify(status));
  })();
  return { status: 403, headers: { "content-type": "application/json" }, body };
}

async function record(): Promise<string[]> {
  const allocations = { "3": { id: "c", podref: "shop/a", ifname: "net1", uid: "u" } };
  const metadata = { namespace, name: sliceName(place), ...sliceMarks(place) };
  const object = await new KubeClient({ transport: api.transport }).create(ipPools, {
    metadata,
    spec: { range: String(place.block), allocations },
  });
  const reserved = { refresh: async () => void (refreshed += 1) } as unknown as ReservedAddresses;
  await recordLeft({ client, reserved, nowMs: () => 0 }, place, object, signal);
  return (await client.list(reservations)).items.map(({ metadata: { name = "" } }) => name);
}

it("records it", async () => {
  expect(await record()).toEqual(["net-10.0.0.3"]);
  expect(refreshed).toBe(1);
});

// The shared pool of the range is made before the first record.
const kinds = ["ippools", "overlappingrangeipreservations"];

it.each(kinds)(
  "%s refused by a quota, a policy or for want of a right: the slice stays, and why is said",
  async (kind) => {
    [refusedKind, causes] = [kind, []];
    await expect(record()).rejects.toThrow(/namespace kube-system.*stays its own: raise the quota.*not here/u);
  },
);

it.each(kinds)("%s refused since the namespace is being deleted: nobody is given anything there", async (kind) => {
  [refusedKind, causes] = [kind, [{ reason: "NamespaceTerminating", field: "metadata.namespace" }]];
  expect(await record()).toEqual([]);
});
