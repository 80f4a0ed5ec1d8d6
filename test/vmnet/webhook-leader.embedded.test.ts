// Webhooks and leader in one controller: what the webhook lets pass, the leader serves; what the leader has given, the
// webhook protects; and what the leader writes itself is never refused.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { managedPools, networkConfigs, type StoredNetworkConfig } from "../../src/cluster/resources.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { until } from "../lab/wait.ts";
import { configOf, Fixture, poolOf } from "./webhook-fixture.ts";

const storyMs = 60_000;

describe("webhooks and leader of managed DHCP in one controller", { timeout: storyMs }, () => {
  let fixture: Fixture;
  beforeAll(async () => {
    const api = openApi({ path: ":memory:" });
    const client = (transport: Transport) => new KubeClient({ transport });
    const as = (username: string) => client((request) => api.handle(request, { username, groups: [] }));
    const controller = as("system:serviceaccount:kube-system:holdfast-controller");
    const server = { admin: client(api.transport), controller, tenant: as("tenant"), hasRights: false };
    fixture = await Fixture.open({ ...server, stop: async () => api.close() }, ["vmnet"]);
  }, storyMs);
  afterAll(() => fixture?.close(), storyMs);

  const addressOf = async (namespace: string, name: string) => {
    let found: StoredNetworkConfig | undefined;
    const isAllocated = async () => {
      found = await fixture.server.admin.get(networkConfigs, { namespace, name });
      return found.status?.networkConfigs?.[0]?.state === "Allocated";
    };
    await until(isAllocated, { what: `an address for ${namespace}/${name}` });
    return found?.status?.networkConfigs?.[0]?.allocatedIPAddress ?? "";
  };

  test("the design document's pool is served from its range; in use it is not deleted; afterwards it goes", async () => {
    const namespace = await fixture.namespace();
    const config = {
      serverIP: "172.19.150.2",
      cidr: "172.19.150.0/28",
      pool: null,
      start: "172.19.150.5",
      end: "172.19.150.6",
    };
    expect(await fixture.create(managedPools, poolOf(namespace, "priv", config))).not.toHaveProperty("refused");
    const nic = { networkName: `${namespace}/net-48`, macAddress: "02:00:00:00:00:AB" };
    expect(await fixture.create(networkConfigs, configOf(namespace, "vm-a", [nic]))).not.toHaveProperty("refused");
    const address = await addressOf(namespace, "vm-a");
    expect(["172.19.150.5", "172.19.150.6"]).toContain(address);

    const taken = { ...nic, macAddress: "02:00:00:00:00:01", ipAddress: address };
    const rival = await fixture.create(networkConfigs, configOf(namespace, "vm-b", [taken]));
    expect(rival.refused).toMatch(/^422 .*is already allocated: VM .*\/vm-a/);
    const at = { namespace, name: "priv" };
    expect((await fixture.remove(managedPools, at)).refused).toMatch(/^403 Forbidden .*still used/);

    await fixture.remove(networkConfigs, { namespace, name: "vm-a" });
    const isGone = async () => (await fixture.server.admin.list(networkConfigs, { namespace })).items.length === 0;
    await until(isGone, { what: "the network config's end" });
    expect(await fixture.remove(managedPools, at)).not.toHaveProperty("refused");
  });

  test("what came while the webhook was away is refused by the leader in the same words", async () => {
    const namespace = await fixture.namespace();
    const outside = { cidr: "10.1.0.0/24", serverIP: "10.2.0.1" };
    await fixture.server.controller.create(managedPools, poolOf(namespace, "odd", outside)); // as the leader's own
    const nic = { networkName: `${namespace}/net-48`, macAddress: "02:00:00:00:00:02" };
    await fixture.create(networkConfigs, configOf(namespace, "vm-a", [nic]));
    const message = async () => {
      const { status } = await fixture.server.admin.get(networkConfigs, { namespace, name: "vm-a" });
      return JSON.stringify(status ?? {});
    };
    await until(async () => (await message()).includes("10.2.0.1 is not within the subnet"), {
      what: "the leader's word",
    });
  });
});
