// What the webhooks do to pools, network configs and networks, on any API server: through real TLS, by the server's
// own rules of admission.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { managedPools, namespaces, networkAttachmentDefinitions, networkConfigs } from "../../src/cluster/resources.ts";
import type { WebhookServer } from "../claims/webhook-fixture.ts";
import { until } from "../lab/wait.ts";
import { createdConfigs, createdPools, harvester, inNamespace } from "./webhook-cases.ts";
import { configOf, Fixture, poolOf } from "./webhook-fixture.ts";

const storyMs = 120_000;
const subnet = { cidr: "10.1.0.0/24", serverIP: "10.1.0.2", pool: { start: "10.1.0.10", end: "10.1.0.20" } };
const mac = "02:00:00:00:00:01";

export function vmnetWebhookStories(server: string, open: () => Promise<WebhookServer>, startMs: number): void {
  describe(`the webhooks of managed DHCP on ${server}`, { timeout: storyMs }, () => {
    let fixture: Fixture;
    beforeAll(async () => void (fixture = await Fixture.open(await open())), startMs);
    afterAll(() => fixture?.close(), 60_000);

    /** A namespace with a pool on net-48. */
    async function pooled(name = "pool-48"): Promise<string> {
      const namespace = await fixture.namespace();
      const { refused } = await fixture.create(managedPools, poolOf(namespace, name, subnet));
      expect(refused).toBeUndefined();
      return namespace;
    }

    describe("a new pool", () => {
      let namespace: string;
      beforeAll(async () => void (namespace = await fixture.namespace()), storyMs);

      test.each(createdPools)("$what", async ({ config, outcome, more = {} }) => {
        const pool = poolOf(namespace, "pool-48", config, inNamespace(more, namespace));
        const { refused, object } = await fixture.create(managedPools, pool, { dryRun: true });
        if (outcome instanceof RegExp) expect(refused).toMatch(outcome);
        else
          expect({ refused, config: (object?.["spec"] as { ipv4Config?: object })?.ipv4Config }).toMatchObject({
            refused: undefined,
            config: outcome,
          });
      });

      test("the cluster's own service range, as the API server has it", async () => {
        const cidr = await fixture.serviceCidr();
        const pool = poolOf(namespace, "pool-48", { cidr });
        const { refused } = await fixture.create(managedPools, pool, { dryRun: true });
        expect(refused).toMatch(/^422 .*overlaps the cluster's service range/);
      });

      test("on a network with an ipam of its own, or with claims", async () => {
        await fixture.define(namespace, "own", { ipam: { type: "whereabouts", range: "10.1.0.0/24" } });
        await fixture.define(namespace, "kept", { allowPersistentIPs: true });
        const on = (network: string) => poolOf(namespace, network, subnet, { networkName: `${namespace}/${network}` });
        expect((await fixture.create(managedPools, on("own"))).refused).toMatch(
          /^422 .*has ipam with type "whereabouts". Remove ipam/,
        );
        expect((await fixture.create(managedPools, on("kept"))).refused).toMatch(
          /^422 .*has allowPersistentIPs. Remove it/,
        );
      });

      test("a second one on the network: apart it may be, over another it may not", async () => {
        const place = await pooled();
        const over = poolOf(place, "over", { ...subnet, serverIP: "10.1.0.3" });
        expect((await fixture.create(managedPools, over)).refused).toMatch(
          /^422 .*10.1.0.10-10.1.0.20 is ippl .*\/pool-48's too/,
        );
        const apart = poolOf(place, "apart", {
          ...subnet,
          serverIP: "10.1.0.3",
          pool: { start: "10.1.0.30", end: "10.1.0.40" },
        });
        expect((await fixture.create(managedPools, apart)).refused).toBeUndefined();
      });
    });

    describe("a pool that is there", () => {
      const spec = (ipv4Config: object) => ({ spec: { ipv4Config } });

      test("grows, learns a router, excludes and options; it keeps its network", async () => {
        const at = { namespace: await pooled(), name: "pool-48" };
        for (const change of [
          { pool: { start: "10.1.0.5", end: "10.1.0.200" } },
          { router: "10.1.0.1" },
          { pool: { exclude: ["10.1.0.100/30"] } },
          { dns: ["10.1.0.53"], ntp: ["10.1.0.53"], domainName: "vms.example", leaseTime: 600 },
        ]) {
          expect(await fixture.change(managedPools, at, spec(change))).not.toHaveProperty("refused");
        }
        const moved = { spec: { networkName: `${at.namespace}/net-49` } };
        expect((await fixture.change(managedPools, at, moved)).refused).toMatch(
          /^422 .*networkName: it is .*cannot become/,
        );
        expect((await fixture.change(managedPools, at, spec({ leaseTime: -5 }))).refused).toMatch(
          /^422 .*no lease time/,
        );
      });

      test("shrinks as far as no VM is left outside, and takes no VM's address for its server", async () => {
        const at = { namespace: await pooled(), name: "pool-48" };
        await fixture.hold(`${at.namespace}/net-48`, "10.1.0.18", { pool: `${at.namespace}/pool-48` });
        const end = (text: string) => fixture.change(managedPools, at, spec({ pool: { end: text } }));
        expect((await end("10.1.0.17")).refused).toMatch(
          /^422 .*10.1.0.18 of VM .*would be outside 10.1.0.10-10.1.0.17/,
        );
        expect((await end("10.1.0.18")).refused).toBeUndefined();
        const moved = await fixture.change(managedPools, at, spec({ serverIP: "10.1.0.18" }));
        expect(moved.refused).toMatch(/^422 .*10.1.0.18 is already occupied/);
      });

      test("can be annotated when its network is gone", async () => {
        const at = { namespace: await pooled(), name: "pool-48" };
        await fixture.server.admin.delete(networkAttachmentDefinitions, { namespace: at.namespace, name: "net-48" });
        const note = { metadata: { annotations: { note: "x" } } };
        expect(await fixture.change(managedPools, at, note)).not.toHaveProperty("refused");
        expect(await fixture.change(managedPools, at, spec({ dns: ["10.1.0.53"] }))).not.toHaveProperty("refused");
        expect(await fixture.remove(managedPools, at)).not.toHaveProperty("refused");
      });

      test("is not deleted while it is in use, whatever it is called", async () => {
        const namespace = await pooled("another-name");
        const at = { namespace, name: "another-name" };
        const config = configOf(namespace, "vm-a", [{ networkName: `${namespace}/net-48`, macAddress: mac }]);
        expect(await fixture.create(networkConfigs, config)).not.toHaveProperty("refused");
        expect((await fixture.remove(managedPools, at)).refused).toMatch(
          new RegExp(
            `^403 Forbidden .*ippl ${namespace}/another-name: it's still used by VirtualMachineNetworkConfig\\(s\\) ${namespace}/vm-a`,
          ),
        );
        await fixture.remove(networkConfigs, { namespace, name: "vm-a" });
        const release = await fixture.hold(`${namespace}/net-48`, "10.1.0.11", { pool: `${namespace}/another-name` });
        expect((await fixture.remove(managedPools, at)).refused).toMatch(
          /^403 Forbidden .*still used: 10.1.0.11 of VM/,
        );
        await release();
        expect(await fixture.remove(managedPools, at)).not.toHaveProperty("refused");
      });

      test("goes with its namespace, in use or not", async () => {
        const namespace = await pooled();
        const config = configOf(namespace, "vm-a", [{ networkName: `${namespace}/net-48`, macAddress: mac }]);
        await fixture.create(networkConfigs, config);
        const { admin } = fixture.server;
        await admin.delete(namespaces, { name: namespace });
        const left = async () => (await admin.list(managedPools, { namespace })).items.length === 0;
        await until(left, { what: "the pool's end" });
      });
    });

    describe("objects as Harvester's controller leaves them", () => {
      test("are accepted with their status: conditions without times of transition, marks, states, old names", async () => {
        const { admin } = fixture.server;
        const namespace = await fixture.namespace();
        const at = { namespace, name: "pool-48" };
        await admin.create(managedPools, poolOf(namespace, "pool-48", harvester.config, { paused: false }));
        const body = { metadata: { finalizers: ["wrangler.cattle.io/vm-dhcp-ippool-controller"] } };
        await admin.patch(managedPools, at, { type: "merge", body });
        const status = { status: harvester.poolStatus };
        const pool = await admin.patch(managedPools, at, { type: "merge", body: status }, { subresource: "status" });
        expect(pool.status).toEqual(harvester.poolStatus);
        const long = `vm-${"x".repeat(100)}`;
        const nics = [0, 1, 2, 3, 4, 5].map((last) => ({
          networkName: `${namespace}/net-48`,
          macAddress: `02:00:00:00:02:0${last}`,
        }));
        const old = configOf(namespace, long, [], { networkConfigs: undefined, networkConfig: nics });
        await admin.create(networkConfigs, old);
        const place = { namespace, name: long };
        const states = { status: harvester.configStatus };
        const config = await admin.patch(
          networkConfigs,
          place,
          { type: "merge", body: states },
          { subresource: "status" },
        );
        expect(config.status).toEqual(harvester.configStatus);
        await admin.patch(managedPools, at, { type: "merge", body: { metadata: { finalizers: null } } });
      });
    });

    describe("a network config", () => {
      let namespace: string;
      beforeAll(async () => {
        namespace = await pooled();
        await fixture.hold(`${namespace}/net-48`, "10.1.0.15");
      }, storyMs);

      test.each(createdConfigs)("$what", async ({ nics, refused, more = {} }) => {
        const config = configOf(namespace, "vm-a", inNamespace(nics, namespace), more);
        const verdict = await fixture.create(networkConfigs, config, { dryRun: true });
        if (refused === undefined) expect(verdict).not.toHaveProperty("refused");
        else expect(verdict.refused).toMatch(refused);
      });

      test("takes no MAC and no address that another has asked for; its VM stays; what was wrong may be set right", async () => {
        const nic = (last: number, more: object = {}) => ({
          networkName: `${namespace}/net-48`,
          macAddress: `02:00:00:00:01:0${last}`,
          ...more,
        });
        const at = (name: string) => ({ namespace, name });
        expect(
          await fixture.create(networkConfigs, configOf(namespace, "vm-1", [nic(1, { ipAddress: "10.1.0.11" })])),
        ).not.toHaveProperty("refused");
        const twin = await fixture.create(networkConfigs, configOf(namespace, "vm-2", [nic(1)]));
        expect(twin.refused).toMatch(/^422 .*02:00:00:00:01:01 is a NIC of vmnetcfg .*\/vm-1/);
        const greedy = await fixture.create(
          networkConfigs,
          configOf(namespace, "vm-2", [nic(2, { ipAddress: "10.1.0.11" })]),
        );
        expect(greedy.refused).toMatch(/^422 .*10.1.0.11 is asked for by vmnetcfg .*\/vm-1/);
        expect(await fixture.create(networkConfigs, configOf(namespace, "vm-2", [nic(2)]))).not.toHaveProperty(
          "refused",
        );
        const change = (spec: object) => fixture.change(networkConfigs, at("vm-2"), { spec });
        expect((await change({ networkConfigs: [nic(1)] })).refused).toMatch(/^422 .*is a NIC of vmnetcfg/);
        expect((await change({ vmName: "other" })).refused).toMatch(
          /^422 .*vmName: it is vm-2 and cannot become other/,
        );
        expect(await change({ networkConfigs: [nic(2), nic(3)] })).not.toHaveProperty("refused");
        expect(await change({ paused: true })).not.toHaveProperty("refused");
      });

      test("of another namespace may use a network that administrators share in default", async () => {
        const tenant = await fixture.namespace();
        await fixture.define("default", "shared");
        const config = configOf(tenant, "vm-a", [{ networkName: "default/shared", macAddress: mac }]);
        expect(await fixture.create(networkConfigs, config)).not.toHaveProperty("refused");
      });

      test("our controller writes it for a VM although one NIC is wrong", async () => {
        const config = configOf(namespace, "vm-9", [{ networkName: `${namespace}/zip`, macAddress: "zz" }]);
        await expect(fixture.asController(networkConfigs, config)).resolves.toBeDefined();
      });
    });

    describe("a network with pools", () => {
      test("gets no second giver of addresses, and stays while VMs use it", async () => {
        const namespace = await pooled();
        const at = { namespace, name: "net-48" };
        const config = (more: object) => ({
          spec: { config: JSON.stringify({ name: "net-48", type: "bridge", ...more }) },
        });
        const change = (more: object) => fixture.change(networkAttachmentDefinitions, at, config(more));
        expect((await change({ ipam: { type: "dhcp" } })).refused).toMatch(
          /^422 .*has ipam with type "dhcp". Remove ipam/,
        );
        expect((await change({ allowPersistentIPs: true })).refused).toMatch(/^422 .*Remove it/);
        expect(await change({ vlan: 48 })).not.toHaveProperty("refused");
        const nic = { networkName: `${namespace}/net-48`, macAddress: mac };
        await fixture.create(networkConfigs, configOf(namespace, "vm-a", [nic]));
        expect((await fixture.remove(networkAttachmentDefinitions, at)).refused).toMatch(
          /^403 Forbidden .*still used by VirtualMachineNetworkConfig\(s\) .*\/vm-a/,
        );
        await fixture.remove(networkConfigs, { namespace, name: "vm-a" });
        expect(await fixture.remove(networkAttachmentDefinitions, at)).not.toHaveProperty("refused");
      });

      test("another network is let pass", async () => {
        const namespace = await fixture.namespace();
        expect(await fixture.define(namespace, "plain", { ipam: { type: "dhcp" } })).not.toHaveProperty("refused");
        expect(await fixture.remove(networkAttachmentDefinitions, { namespace, name: "plain" })).not.toHaveProperty(
          "refused",
        );
      });

      test("is not made with an ipam where its pool is there already", async () => {
        const namespace = await pooled();
        await fixture.server.admin.delete(networkAttachmentDefinitions, { namespace, name: "net-48" });
        expect((await fixture.define(namespace, "net-48", { ipam: { type: "dhcp" } })).refused).toMatch(
          /^422 .*Remove ipam/,
        );
        expect(await fixture.define(namespace, "net-48")).not.toHaveProperty("refused");
      });
    });

    test("with the controller away everything is let pass", async () => {
      const namespace = await fixture.namespace();
      await fixture.halt();
      try {
        const odd = poolOf(namespace, "odd", { cidr: "10.1.0.0/24", serverIP: "zz" });
        expect(await fixture.create(managedPools, odd)).not.toHaveProperty("refused");
      } finally {
        await fixture.start();
      }
      const at = { namespace, name: "odd" };
      expect(
        await fixture.change(managedPools, at, { metadata: { labels: { a: "b" } } }),
        "as it is",
      ).not.toHaveProperty("refused");
      const right = { spec: { ipv4Config: { serverIP: "10.1.0.9" } } };
      expect(await fixture.change(managedPools, at, right), "set right").not.toHaveProperty("refused");
    });
  });
}
