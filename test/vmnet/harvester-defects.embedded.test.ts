// What went wrong with Harvester's agents, their pods and its webhook, by the numbers of docs/complaints.md, each as a
// story that goes right here. Those of its controller are in stories-defects.embedded.test.ts.
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { assembleController } from "../../src/controller/controller.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { Informer } from "../../src/kube/cache/informer.ts";
import { realClock } from "../../src/kube/clock.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import { parseMac } from "../../src/net/mac.ts";
import { agentName } from "../../src/vmnet/agents/names.ts";
import { agentPods } from "../../src/vmnet/agents/objects.ts";
import { AgentFixture, network, type PlayedAgent, pool } from "../agent/fixture.ts";
import { ip, ipHex } from "../dhcp/packet.ts";
import { until } from "../lab/wait.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture as AgentsFixture, image } from "./agents-fixture.ts";
import { Fixture as LeaderFixture, isTrue, shop, system } from "./leader-fixture.ts";
import { configOf, Fixture as WebhookFixture, poolOf } from "./webhook-fixture.ts";

const one = parseMac("02:00:00:00:00:01");
const two = parseMac("02:00:00:00:00:02");
const three = parseMac("02:00:00:00:00:03");
const eventually = (what: string, check: () => Promise<boolean>) => until(check, { what, everyMs: 10 });

describe("of its agents", () => {
  let fixture: AgentFixture;
  beforeEach(async () => {
    fixture = await AgentFixture.open();
  });
  afterEach(() => fixture.close());

  const ask = (agent: PlayedAgent, mac: typeof one) => agent.wire.story(network, { mac, options: { 53: "01" } });
  const offered = (agent: PlayedAgent, address: string, mac = one) =>
    eventually(`${address} for ${mac}`, async () => ask(agent, mac).includes(`OFFER ${address}`));

  /** One write: the address is another NIC's from then on. */
  async function passOn(address: string, from: string, to: string): Promise<void> {
    const ledger = new ReservationLedger({ client: fixture.client, namespace: system, now: Date.now });
    const domain = `vm-network:${network}`;
    const owner = { kind: "nic", uid: "uid-vm-1", namespace: "default", name: "vm-1", nic: from } as const;
    const held = await ledger.take({ domain, address: ip(address), owner, note: { pool, mac: from } });
    if (held.outcome !== "yours") throw new Error(held.outcome);
    const { version } = held.hold;
    const change = { owner: ownerKey(owner), version, to: { ...owner, nic: to }, note: { pool, mac: to } };
    const { outcome } = await ledger.amend({ domain, address: ip(address), ...change });
    if (outcome !== "amended") throw new Error(outcome);
  }

  test("A9-1: an agent that starts after the last write serves what is there", async () => {
    await fixture.makePool();
    await fixture.bind("192.168.48.81", one);
    await offered(fixture.start("late"), "192.168.48.81");
  });

  test("A9-2: an address that goes to another MAC in one write is served there, and not to the old one", async () => {
    await fixture.makePool();
    await fixture.bind("192.168.48.81", one);
    const agent = fixture.start("a");
    await offered(agent, "192.168.48.81");
    await passOn("192.168.48.81", one, two);
    await offered(agent, "192.168.48.81", two);
    expect(ask(agent, one)).toBe("silence: unknown-client");
  });

  test("A9-3: one bad MAC on record keeps no other from being served, before it or after it", async () => {
    await fixture.makePool();
    await fixture.bind("192.168.48.81", one, "vm-1");
    await fixture.bind("192.168.48.82", "zz:bad", "vm-2");
    await fixture.bind("192.168.48.83", two, "vm-3");
    const agent = fixture.start("a");
    await offered(agent, "192.168.48.81");
    await offered(agent, "192.168.48.83", two);
    await fixture.bind("192.168.48.84", three, "vm-4");
    await offered(agent, "192.168.48.84", three);
  });

  test("A9-4: another DNS server and another lease time reach those who have a lease", async () => {
    await fixture.makePool({ dns: ["192.168.48.3"], leaseTime: 600 });
    await fixture.bind("192.168.48.81", one);
    const agent = fixture.start("a");
    await offered(agent, "192.168.48.81");
    await fixture.changePool({ ipv4Config: { dns: ["192.168.48.4"], leaseTime: 300 } });
    const renewal = { mac: one, ciaddr: "192.168.48.81", options: { 53: "03", 55: "06" } };
    await eventually("the new options", async () => {
      const options = new Map(agent.wire.reply(network, renewal).options);
      return options.get(6) === ipHex("192.168.48.4") && options.get(51) === "0000012c";
    });
  });

  test("N-8: an address that went to another MAC and was then taken away wedges nothing", async () => {
    await fixture.makePool();
    await fixture.bind("192.168.48.81", one);
    const agent = fixture.start("a");
    await offered(agent, "192.168.48.81");
    await passOn("192.168.48.81", one, two);
    await fixture.unbind("192.168.48.81");
    await fixture.bind("192.168.48.82", three);
    await offered(agent, "192.168.48.82", three);
    for (const mac of [one, two]) expect(ask(agent, mac)).toBe("silence: unknown-client");
  });
});

describe("of its agents' pods", () => {
  let fixture: AgentsFixture;
  let stop: AbortController;
  let ended: Promise<void>;
  beforeEach(async () => {
    fixture = await AgentsFixture.open(await embeddedServer());
    await installDefinitions(fixture.client);
    await fixture.network("net");
    await fixture.pool("blue", "net");
    stop = new AbortController();
    const controller = assembleController({
      client: fixture.client,
      clock: realClock,
      log: silent,
      systemNamespace: system,
      cooldownMs: 0,
      instance: "test",
      reconcilers: ["vmnet"],
      agents: { image },
      retryMs: 20,
      pace: { mirrorMs: 10, sweepMs: 20 },
    });
    ended = controller.run(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await ended;
    await fixture.close();
  });

  const at = { namespace: shop, name: "blue" };
  const shown = async () => (await fixture.client.get(kinds.managedPools, at)).status;
  const agentIs = (name: string) =>
    eventually(`ready, with ${name}`, async () => {
      const status = await shown();
      return isTrue({ ...(status && { status }) }, "AgentReady") && status?.agentPodRef?.name === name;
    });

  test("A9-18: a status that is lost is written again, with the agents that are there", async () => {
    await fixture.agent("blue", "a1", true);
    await fixture.holder("blue", "a1");
    await agentIs("a1");
    const { uid } = (await fixture.deployed("blue")).metadata;
    const { metadata, spec } = await fixture.client.get(kinds.managedPools, at);
    await fixture.client.update(kinds.managedPools, { metadata, spec, status: {} }, { subresource: "status" });
    await agentIs("a1");
    expect((await fixture.deployed("blue")).metadata.uid).toBe(uid);
  });

  test("A9-20: an agent that stays in deletion on a dead node blocks no other", async () => {
    await fixture.agent("blue", "a1", true, "test/dead-node");
    await fixture.holder("blue", "a1");
    await agentIs("a1");
    await fixture.client.delete(agentPods, { namespace: system, name: "a1" });
    await eventually("not ready", async () => {
      const status = await shown();
      return !isTrue({ ...(status && { status }) }, "AgentReady");
    });
    // The Deployment still asks for two, whatever became of this one: its ReplicaSet counts no pod that is going.
    expect((await fixture.deployed("blue")).spec.replicas).toBe(2);
    await fixture.agent("blue", "a2", true);
    const lease = { namespace: system, name: "dhcp.shop.blue" };
    const body = { spec: { holderIdentity: "a2_02:00:00:00:00:02" } };
    await fixture.client.patch(kinds.leases, lease, { type: "merge", body });
    await agentIs("a2");
    await fixture.client.patch(
      agentPods,
      { namespace: system, name: "a1" },
      { type: "merge", body: { metadata: { finalizers: null } } },
    );
  });

  test("N-9: a pool that was unready for long hears of its agent at once", async () => {
    await fixture.agent("blue", "a1", false);
    await fixture.holder("blue", "a1");
    // Each of them counted as a failure there, and after thirty-one the next look came two minutes later.
    for (let time = 1; time <= 40; time++)
      await fixture.client.patch(
        agentPods,
        { namespace: system, name: "a1" },
        { type: "merge", body: { metadata: { annotations: { "test/time": `${time}` } } } },
      );
    await fixture.readiness({ namespace: system, name: "a1" }, true);
    await agentIs("a1");
  });
});

test("A9-19: pools whose names run into each other have agents of their own", () => {
  const names = [
    { namespace: "a-b", name: "c" },
    { namespace: "a", name: "b-c" },
  ].map(agentName);
  expect(new Set(names).size).toBe(2);
});

describe("of its controller, beside stories-defects", () => {
  let fixture: LeaderFixture;
  beforeEach(async () => {
    fixture = await LeaderFixture.open(await embeddedServer());
    await fixture.network("blue");
    await fixture.pool("blue");
    fixture.lead();
  });
  afterEach(() => fixture.close());

  test("A9-9: a network whose namespace and name have more than 64 characters is served", async () => {
    const name = `n${"x".repeat(70)}`;
    await fixture.network(name);
    await fixture.pool("long", {
      network: `${shop}/${name}`,
      cidr: "10.8.0.0/24",
      start: "10.8.0.10",
      end: "10.8.0.10",
    });
    await fixture.vm("web", [{ network: name, mac: one }]);
    expect(await fixture.addressOf("web")).toBe("10.8.0.10");
  });

  test("A9-13: a VM that loses its last NIC of all has no address left", async () => {
    await fixture.vm("web", [{ network: "blue", mac: one }]);
    await fixture.addressOf("web");
    await fixture.setNics("web", []);
    await fixture.booksAre();
  });

  test("N-10: `Allocated` is True with an address for every NIC, and never before", async () => {
    const seen: string[] = [];
    const stop = new AbortController();
    const configs = new Informer({ client: fixture.client, clock: realClock, resource: kinds.networkConfigs });
    configs.handle(({ object }) => {
      const { status } = object as kinds.StoredNetworkConfig;
      if (!isTrue({ ...(status && { status }) }, "Allocated")) return;
      seen.push((status?.networkConfigs ?? []).map(({ allocatedIPAddress = "-" }) => allocatedIPAddress).join(" "));
    });
    const ended = configs.run(stop.signal);
    for (const [index, name] of ["a", "b", "c"].entries())
      await fixture.vm(name, [
        { network: "blue", mac: `02:00:00:00:0${index}:01` },
        { network: "blue", mac: `02:00:00:00:0${index}:02` },
      ]);
    for (const name of ["a", "b", "c"]) await fixture.addressOf(name, 1);
    await eventually("three of them", async () => new Set(seen).size >= 3);
    stop.abort();
    await ended;
    for (const addresses of seen) expect(addresses).toMatch(/^10\.7\.0\.1\d 10\.7\.0\.1\d$/);
  });
});

test(
  "N-11: what the webhook denies is the client's mistake (422, 403), never an internal error",
  { timeout: 60_000 },
  async () => {
    const api = openApi({ path: ":memory:" });
    const as = (username: string) =>
      new KubeClient({ transport: (request) => api.handle(request, { username, groups: ["system:authenticated"] }) });
    const fixture = await WebhookFixture.open({
      admin: new KubeClient({ transport: api.transport }),
      controller: as("system:serviceaccount:kube-system:holdfast-controller"),
      tenant: as("tenant"),
      hasRights: false,
      stop: async () => api.close(),
    });
    try {
      const namespace = await fixture.namespace();
      const refusals = [
        fixture.create(kinds.managedPools, poolOf(namespace, "p", { cidr: "10.1.0.0" })),
        fixture.create(kinds.managedPools, poolOf(namespace, "p", { cidr: "10.1.0.0/24", router: "10.2.0.1" })),
        fixture.create(
          kinds.networkConfigs,
          configOf(namespace, "vm", [{ networkName: `${namespace}/net-48`, macAddress: "zz" }]),
        ),
        fixture.create(
          kinds.networkConfigs,
          configOf(namespace, "vm", [{ networkName: `${namespace}/nope`, macAddress: "02:00:00:00:00:01" }]),
        ),
      ];
      for (const { refused } of await Promise.all(refusals)) expect(refused).toMatch(/^(403|422) /);
    } finally {
      await fixture.close();
    }
  },
);
