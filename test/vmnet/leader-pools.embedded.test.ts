// Managed pools under the leader, on the embedded API: what is given, what is refused with which words, who waits, what
// the status shows, and how a pool ends.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/vmnet/marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, isTrue, messageOf, shop } from "./leader-fixture.ts";

const blue = `${shop}/blue`;
const mac = (number: number) => `02:00:00:00:01:${number.toString(16).padStart(2, "0")}`;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.network("blue");
});
afterEach(() => fixture.close());

const ask = (name: string, number: number, ip?: string) =>
  fixture.config(name, [{ network: blue, mac: mac(number), ...(ip && { ip }) }]);
const pending = async (name: string) => {
  const config = await fixture.configIs(
    name,
    "pending",
    ({ status }) => status?.networkConfigs?.[0]?.state === "Pending" && status.networkConfigs[0].message !== undefined,
  );
  expect(isTrue(config, "Allocated")).toBe(false);
  return config.status!.networkConfigs![0]!.message!;
};

describe("addresses of a pool", () => {
  it("are given at random and never twice; server, router, excluded and reserved ones never", async () => {
    await fixture.pool("blue", {
      start: "10.7.0.1",
      end: "10.7.0.12",
      router: "10.7.0.1",
      exclude: ["10.7.0.3", "10.7.0.4-10.7.0.5"],
      reservations: [{ ipAddress: "10.7.0.6" }, { ipAddress: "10.7.0.7", macAddress: "02:00:00:00:09:09" }],
    });
    fixture.lead();
    for (let number = 1; number <= 5; number++) await ask(`vm${number}`, number);
    const given = await Promise.all([1, 2, 3, 4, 5].map((number) => fixture.addressOf(`vm${number}`)));
    expect(given.toSorted()).toEqual(["10.7.0.10", "10.7.0.11", "10.7.0.12", "10.7.0.8", "10.7.0.9"]);
    await ask("vm6", 6);
    expect(await pending("vm6")).toMatch(/^ippl shop\/blue: 10\.7\.0\.0\/24 has no free address/);
    const pool = await fixture.poolIs("blue", "full", ({ status }) => status?.ipv4?.used === 5);
    expect(pool.status!.ipv4).toMatchObject({ used: 5, available: 0 });
    const marked = Object.entries(pool.status!.ipv4!.allocated!).filter(([, text]) => !text.includes(":"));
    expect(Object.fromEntries(marked)).toEqual({
      "10.7.0.1": "RESERVED",
      "10.7.0.2": "RESERVED",
      "10.7.0.3": "EXCLUDED",
      "10.7.0.4": "EXCLUDED",
      "10.7.0.5": "EXCLUDED",
      "10.7.0.6": "RESERVED",
      "10.7.0.7": "RESERVED",
    });
    expect(await fixture.told(/VirtualMachineNetworkConfig vm6 AddressPending/)).toContain("has no free address");
  });

  it("that are full have waiters, which are served when one is free: by a rest that ends, a second pool, and by growth", async () => {
    await fixture.pool("blue", { start: "10.7.0.10", end: "10.7.0.10" });
    fixture.lead();
    await ask("first", 1);
    await fixture.addressOf("first");
    await fixture.vm("second", [{ network: "blue", mac: mac(2) }]);
    await pending("second");
    await fixture.told(/VirtualMachine second AddressPending/);
    await fixture.remove(kinds.networkConfigs, "first");
    await fixture.goes(kinds.networkConfigs, "first");
    expect(await pending("second")).toMatch(/1 at rest after a release/);
    fixture.advance(601_000);
    expect(await fixture.addressOf("second")).toBe("10.7.0.10");
    await ask("third", 3);
    await pending("third");
    await fixture.edit(kinds.managedPools, "blue", { spec: { ipv4Config: { pool: { end: "10.7.0.11" } } } });
    expect(await fixture.addressOf("third")).toBe("10.7.0.11");
    await ask("fourth", 4);
    await pending("fourth");
    await fixture.pool("green", { network: blue, start: "10.7.0.40", end: "10.7.0.40", serverIP: "10.7.0.3" });
    expect(await fixture.addressOf("fourth")).toBe("10.7.0.40");
  });

  it("come from the first of several pools that has room, by name", async () => {
    await fixture.pool("b-pool", { network: blue, start: "10.7.0.20", end: "10.7.0.20", serverIP: "10.7.0.3" });
    await fixture.pool("a-pool", { network: blue, start: "10.7.0.10", end: "10.7.0.10" });
    fixture.lead();
    await fixture.poolIs("b-pool", "ready", (pool) => isTrue(pool, "CacheReady"));
    await fixture.poolIs("a-pool", "ready", (pool) => isTrue(pool, "CacheReady"));
    await ask("one", 1);
    expect(await fixture.addressOf("one")).toBe("10.7.0.10");
    await ask("two", 2);
    expect(await fixture.addressOf("two")).toBe("10.7.0.20");
    const notes = (await fixture.holds()).map(({ hold }) => `${hold.address} ${hold.note?.pool}`).toSorted();
    expect(notes).toEqual(["10.7.0.10 shop/a-pool", "10.7.0.20 shop/b-pool"]);
  });

  it("that are reserved for a MAC go to the VM with that MAC, and to nobody else", async () => {
    await fixture.pool("blue", { reservations: [{ ipAddress: "10.7.0.99", macAddress: mac(7) }] });
    fixture.lead();
    await ask("thief", 1, "10.7.0.99");
    expect(await pending("thief")).toContain("10.7.0.99");
    await ask("owner", 7);
    expect(await fixture.addressOf("owner")).toBe("10.7.0.99");
  });

  it("can be asked for by number; each refusal says why", async () => {
    await fixture.pool("blue", { exclude: ["10.7.0.12"] });
    fixture.lead();
    await ask("held", 1, "10.7.0.15");
    expect(await fixture.addressOf("held")).toBe("10.7.0.15");
    expect((await fixture.books()).length).toBe(1);
    const cases = [
      ["outside", "10.7.0.200", /10\.7\.0\.200 is not in the range 10\.7\.0\.10-10\.7\.0\.19 of ippl shop\/blue/],
      ["elsewhere", "10.1.1.1", /10\.1\.1\.1 is not in a subnet of its network/],
      ["excluded", "10.7.0.12", /10\.7\.0\.12 is excluded in ippl shop\/blue/],
      ["server", "10.7.0.2", /10\.7\.0\.2 is the server address of ippl shop\/blue/],
      ["taken", "10.7.0.15", /10\.7\.0\.15 is held by vmnetcfg shop\/held \(02:00:00:00:01:01\)/],
    ] as const;
    for (const [index, [name, ip, words]] of cases.entries()) {
      await ask(name, 10 + index, ip);
      expect(await pending(name)).toMatch(words);
    }
    await fixture.booksAre(`10.7.0.15 held ${mac(1)}`);
    await fixture.remove(kinds.networkConfigs, "held");
    await fixture.goes(kinds.networkConfigs, "held");
    fixture.advance(601_000);
    expect(await fixture.addressOf("taken")).toBe("10.7.0.15");
  });

  it("change with ipAddress: the new one is taken before the old one is released", async () => {
    await fixture.pool("blue");
    fixture.lead();
    await ask("web", 1, "10.7.0.11");
    expect(await fixture.addressOf("web")).toBe("10.7.0.11");
    const body = (ipAddress: string) => ({
      spec: { networkConfigs: [{ networkName: blue, macAddress: mac(1), ipAddress }] },
    });
    await fixture.edit(kinds.networkConfigs, "web", body("10.7.0.12"));
    await fixture.booksAre(`10.7.0.12 web ${mac(1)}`);
    await fixture.configIs(
      "web",
      "moved",
      ({ status }) => status?.networkConfigs?.[0]?.allocatedIPAddress === "10.7.0.12",
    );
    await fixture.edit(kinds.networkConfigs, "web", body("10.7.0.200"));
    expect(await pending("web")).toContain("Until then it keeps 10.7.0.12.");
    await fixture.booksAre(`10.7.0.12 web ${mac(1)}`);
  });

  it("one MAC in two network configs: the second waits, and gets its address when the first is gone", async () => {
    await fixture.pool("blue");
    fixture.lead();
    await ask("first", 1);
    const address = await fixture.addressOf("first");
    await ask("second", 1);
    expect(await pending("second")).toMatch(
      new RegExp(`in use in the network shop/blue by vmnetcfg shop/first \\(${mac(1)}\\) at ${address}`),
    );
    await fixture.remove(kinds.networkConfigs, "first");
    expect(await fixture.addressOf("second")).toMatch(/^10\.7\.0\.1\d$/);
    expect((await fixture.books()).length).toBe(1);
  });

  it("a network of another namespace is not everybody's", async () => {
    await fixture.pool("blue");
    await fixture.network("shared", "default");
    await fixture.pool("shared", { network: "default/shared" }, "default");
    fixture.lead();
    await fixture.config(
      "guest",
      [
        { network: blue, mac: mac(1) },
        { network: "default/shared", mac: mac(2) },
      ],
      {},
      "yard",
    );
    const config = await fixture.configIs(
      "guest",
      "looked at",
      ({ status }) => status?.networkConfigs?.[1]?.state === "Allocated",
      "yard",
    );
    expect(config.status!.networkConfigs![0]!.message).toContain("is a network of another namespace");
    expect((await fixture.holds()).map(({ hold }) => hold.domain)).toEqual(["vm-network:default/shared"]);
  });
});

describe("the life of a pool", () => {
  it("shows conditions and counts in Harvester's form, and its finalizer", async () => {
    await fixture.pool("blue");
    fixture.lead();
    const pool = await fixture.poolIs("blue", "ready", (each) => isTrue(each, "CacheReady"));
    expect(pool.metadata.finalizers).toEqual([marks.poolFinalizer]);
    expect(pool.status).toMatchObject({ ipv4: { used: 0, available: 10 } });
    const conditions = pool.status!.conditions!.map(
      ({ type, status, ...rest }) => `${type} ${status} ${Object.keys(rest).join()}`,
    );
    expect(conditions).toEqual([
      "Registered True lastUpdateTime",
      "CacheReady True lastUpdateTime",
      "Stopped False lastUpdateTime",
    ]);
    expect(pool.status!.lastUpdate).toBeDefined();
  });

  it("paused: nothing is given, what was given stays; resumed: whoever waited is served", async () => {
    await fixture.pool("blue");
    fixture.lead();
    await ask("first", 1);
    const address = await fixture.addressOf("first");
    await fixture.edit(kinds.managedPools, "blue", { spec: { paused: true } });
    const paused = await fixture.poolIs("blue", "stopped", (pool) => isTrue(pool, "Stopped"));
    expect(messageOf(paused, "Registered")).toBe("ippl shop/blue was administratively disabled");
    expect(paused.status!.ipv4!.allocated![address]).toBe(mac(1));
    await ask("second", 2);
    expect(await pending("second")).toContain("ippl shop/blue was administratively disabled");
    expect(await fixture.shown("first")).toEqual([`${mac(1)} ${address} Allocated`]);
    await fixture.edit(kinds.managedPools, "blue", { spec: { paused: false } });
    await fixture.addressOf("second");
  });

  it("in use, it is not deleted, whatever it is called; the end of the last user ends it", async () => {
    await fixture.pool("other-name", { network: blue });
    fixture.lead();
    await ask("web", 1);
    await fixture.addressOf("web");
    await fixture.remove(kinds.managedPools, "other-name");
    expect(await fixture.told(/IPPool other-name PoolInUse/)).toContain("still used by vmnetcfg shop/web");
    await ask("late", 2);
    expect(await pending("late")).toContain("is being deleted");
    expect(await fixture.find(kinds.managedPools, "other-name")).toBeDefined();
    await fixture.remove(kinds.networkConfigs, "web");
    await fixture.goes(kinds.managedPools, "other-name");
    await fixture.configIs("late", "unmanaged", ({ status }) => status?.networkConfigs?.[0]?.state === "Unmanaged");
  });

  it("follows its definition when no network config refers to it; one without a definition waits for it", async () => {
    await fixture.pool("blue");
    await fixture.pool("early", {
      network: `${shop}/later`,
      cidr: "10.9.0.0/24",
      start: "10.9.0.10",
      end: "10.9.0.19",
    });
    const leader = fixture.lead();
    await ask("web", 1);
    await fixture.addressOf("web");
    await fixture.remove(kinds.networkAttachmentDefinitions, "blue");
    const gone = await fixture.poolIs(
      "blue",
      "without its network",
      ({ status }) => status?.conditions?.some(({ reason }) => reason === "NetworkGone") === true,
    );
    expect(messageOf(gone, "Registered")).toContain("is gone");
    await leader.quiet(500);
    expect(await fixture.find(kinds.managedPools, "blue")).toBeDefined();
    await fixture.remove(kinds.networkConfigs, "web");
    await fixture.goes(kinds.networkConfigs, "web");
    await fixture.goes(kinds.managedPools, "blue");
    const early = await fixture.poolIs("early", "there", () => true);
    expect(messageOf(early, "Registered")).toContain("is not there yet");
    await fixture.network("later");
    await fixture.poolIs("early", "registered", (pool) => isTrue(pool, "Registered"));
  });

  it("says what is wrong with it, gives nothing, and stops no other", async () => {
    await fixture.pool("blue", { start: "10.7.0.90", end: "10.7.0.80" });
    await fixture.network("red");
    await fixture.pool("red", { cidr: "10.8.0.0/24", start: "10.8.0.10", end: "10.8.0.19" });
    fixture.lead();
    await fixture.config("web", [
      { network: blue, mac: mac(1) },
      { network: `${shop}/red`, mac: mac(2) },
    ]);
    const config = await fixture.configIs(
      "web",
      "half",
      ({ status }) => status?.networkConfigs?.[1]?.state === "Allocated",
    );
    expect(config.status!.networkConfigs![0]!.message).toContain("ippl shop/blue");
    const pool = await fixture.poolIs("blue", "refused", ({ status }) => status?.conditions !== undefined);
    expect(isTrue(pool, "CacheReady")).toBe(false);
    await fixture.edit(kinds.managedPools, "blue", { spec: { ipv4Config: { pool: { end: "10.7.0.99" } } } });
    await fixture.addressOf("web");
  });

  it("a part of the controller says its own conditions and the agent's pod, through the one writer", async () => {
    await fixture.pool("blue");
    let wake: (pool: string) => void = () => {};
    let isReady = false;
    const finished = new Set<string>();
    let mayFinish = false;
    const leader = fixture.lead({
      poolParts: [
        {
          follow: (given) => void (wake = given),
          say: () => ({
            conditions: [
              { type: "AgentReady", status: isReady, ...(!isReady && { reason: "Error", message: "not yet" }) },
            ],
            ...(isReady && { agentPodRef: { namespace: "kube-system", name: "agent-0" } }),
          }),
          finish: async ({ metadata }) => {
            finished.add(metadata.name ?? "");
            return mayFinish;
          },
        },
      ],
    });
    await fixture.poolIs("blue", "not ready", (pool) => messageOf(pool, "AgentReady") === "not yet");
    isReady = true;
    await fixture.network("red");
    await fixture.pool("red", { cidr: "10.8.0.0/24", start: "10.8.0.10", end: "10.8.0.19" });
    await fixture.poolIs("red", "ready", (each) => isTrue(each, "CacheReady"));
    await fixture.remove(kinds.managedPools, "red");
    await expect.poll(() => [...finished]).toEqual(["red"]);
    expect(await fixture.find(kinds.managedPools, "red")).toBeDefined();
    mayFinish = true;
    wake("shop/red");
    await fixture.goes(kinds.managedPools, "red");
    wake("shop/blue");
    const pool = await fixture.poolIs(
      "blue",
      "ready",
      (each) => isTrue(each, "AgentReady") && isTrue(each, "Registered"),
    );
    expect(pool.status!.agentPodRef).toEqual({ namespace: "kube-system", name: "agent-0" });
    await leader.stop();
    // A controller without that part leaves its word as it is.
    const plain = fixture.lead();
    await ask("web", 1);
    await fixture.addressOf("web");
    const after = await fixture.poolIs("blue", "counted", ({ status }) => status?.ipv4?.used === 1);
    expect(isTrue(after, "AgentReady")).toBe(true);
    await plain.stop();
    expect([...finished]).toEqual(["red"]);
  });

  it("measures under Harvester's names; series go with their objects", async () => {
    await fixture.pool("pool-7", { network: blue });
    const leader = fixture.lead();
    await ask("web", 1);
    const ip = await fixture.addressOf("web");
    const labels = { ippool: "shop/pool-7", cidr: "10.7.0.0/24", network: blue };
    await expect.poll(() => leader.series("vmdhcpcontroller_ippool_used")).toEqual([{ ...labels, value: 1 }]);
    expect(await leader.series("vmdhcpcontroller_ippool_available")).toEqual([{ ...labels, value: 9 }]);
    await expect
      .poll(() => leader.series("vmdhcpcontroller_vmnetcfg_status"))
      .toEqual([{ vmnetcfg: "shop/web", network: blue, mac: mac(1), ip, state: "Allocated", value: 1 }]);
    await fixture.remove(kinds.networkConfigs, "web");
    await fixture.goes(kinds.networkConfigs, "web");
    await fixture.remove(kinds.managedPools, "pool-7");
    await fixture.goes(kinds.managedPools, "pool-7");
    await expect.poll(() => leader.series("vmdhcpcontroller_ippool_used")).toEqual([]);
    await expect.poll(() => leader.series("vmdhcpcontroller_vmnetcfg_status")).toEqual([]);
  });
});
