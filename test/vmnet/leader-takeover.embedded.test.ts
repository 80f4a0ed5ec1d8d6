// Taking over from Harvester's controller: objects exactly as it leaves them, on the embedded API. What guests use has
// its hold before anything new is given.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { adoptedAnnotation } from "../../src/api/holds/hold-marks.ts";
import * as marks from "../../src/api/vmnet/marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, isTrue, shop } from "./leader-fixture.ts";

const blue = `${shop}/blue`;
const mac = (number: number) => `02:00:00:00:02:${number.toString(16).padStart(2, "0")}`;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.network("blue");
});
afterEach(() => fixture.close());

const at = "2026-07-16T08:00:00Z";
const said = (...types: string[]) => types.map((type) => ({ type, status: "True", lastUpdateTime: at }));

async function harvesterPool(allocated: Record<string, string>, name = "blue"): Promise<void> {
  await fixture.pool(name, { network: blue, end: "10.7.0.13" });
  await fixture.edit(kinds.managedPools, name, { metadata: { finalizers: [marks.poolFinalizer] } });
  const status = {
    agentPodRef: {
      namespace: "harvester-system",
      name: "shop-blue-agent",
      image: "rancher/harvester-vm-dhcp-agent:v1.9.0",
      uid: "u",
    },
    ipv4: { allocated, used: Object.keys(allocated).length, available: 4 - Object.keys(allocated).length },
    lastUpdate: at,
    conditions: [
      ...said("Registered", "CacheReady", "AgentReady"),
      { type: "Stopped", status: "False", lastUpdateTime: at },
    ],
  };
  await fixture.client.patch(
    kinds.managedPools,
    { namespace: shop, name },
    { type: "merge", body: { status } },
    { subresource: "status" },
  );
}

async function harvesterConfig(
  name: string,
  nics: readonly { mac: string; ip?: string }[],
  vmUid?: string,
): Promise<void> {
  await fixture.config(
    name,
    nics.map(({ mac: each }) => ({ network: blue, mac: each })),
  );
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid: vmUid };
  const metadata = {
    finalizers: [marks.networkConfigFinalizer],
    ...(vmUid !== undefined && { labels: { [marks.vmNameLabelName]: name }, ownerReferences: [owner] }),
  };
  await fixture.edit(kinds.networkConfigs, name, { metadata });
  const networkConfigs = nics.map(({ mac: macAddress, ip }) => ({
    allocatedIPAddress: ip,
    macAddress,
    networkName: blue,
    state: "Allocated",
  }));
  const conditions = [...said("Allocated", "InSynced"), { type: "Disabled", status: "False", lastUpdateTime: at }];
  await fixture.client.patch(
    kinds.networkConfigs,
    { namespace: shop, name },
    { type: "merge", body: { status: { networkConfigs, conditions } } },
    { subresource: "status" },
  );
}

describe("objects as Harvester leaves them", () => {
  it("every recorded address has its hold, under its network config; nothing flips", async () => {
    const uid = await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
    await harvesterPool({ "10.7.0.10": mac(1), "10.7.0.11": mac(2) });
    await harvesterConfig("web", [{ mac: mac(1), ip: "10.7.0.10" }], uid);
    await harvesterConfig("hand", [{ mac: mac(2), ip: "10.7.0.11" }]);
    const before = await fixture.find(kinds.networkConfigs, "hand");
    const leader = fixture.lead();
    await fixture.booksAre(`10.7.0.10 web ${mac(1)}`, `10.7.0.11 hand ${mac(2)}`);
    const pool = await fixture.poolIs(
      "blue",
      "taken over",
      ({ metadata }) => metadata.annotations?.[adoptedAnnotation] !== undefined,
    );
    await leader.quiet();
    const after = await fixture.poolIs("blue", "as it was", (each) => isTrue(each, "AgentReady"));
    expect(after.status!.conditions!.map(({ type, status, ...rest }) => [type, status, rest])).toEqual(
      expect.arrayContaining([
        ["Registered", "True", { lastUpdateTime: at }],
        ["CacheReady", "True", { lastUpdateTime: at }],
        ["AgentReady", "True", { lastUpdateTime: at }],
        ["Stopped", "False", { lastUpdateTime: at }],
      ]),
    );
    expect(after.status!.lastUpdate).toBe(pool.status!.lastUpdate);
    const hand = await fixture.find(kinds.networkConfigs, "hand");
    expect(hand!.status).toEqual(before!.status);
    expect(hand!.metadata.resourceVersion).toBe(before!.metadata.resourceVersion);
    const web = await fixture.find(kinds.networkConfigs, "web");
    expect(web!.status!.conditions).toEqual(before!.status!.conditions);
  });

  it("an address that only a config's status shows (the pool was made anew) is taken before others are served", async () => {
    await fixture.pool("blue", { end: "10.7.0.11" });
    await harvesterConfig("old", [{ mac: mac(1), ip: "10.7.0.11" }]);
    await fixture.config("new", [{ network: blue, mac: mac(3) }]);
    fixture.lead();
    expect(await fixture.addressOf("new")).toBe("10.7.0.10");
    await fixture.booksAre(`10.7.0.10 new ${mac(3)}`, `10.7.0.11 old ${mac(1)}`);
    expect(await fixture.shown("old")).toEqual([`${mac(1)} 10.7.0.11 Allocated`]);
  });

  it("a status that a tenant wrote gets nobody the router's address, the server's, or another's reservation", async () => {
    const reservations = [{ ipAddress: "10.7.0.99", macAddress: mac(9) }];
    await fixture.pool("blue", { end: "10.7.0.13", router: "10.7.0.1", serverIP: "10.7.0.2", reservations });
    const wanted = ["10.7.0.1", "10.7.0.2", "10.7.0.99"];
    for (const [index, ip] of wanted.entries()) await harvesterConfig(`forged-${index}`, [{ mac: mac(index), ip }]);
    fixture.lead();
    const held = async () => (await fixture.holds()).map(({ hold }) => String(hold.address));
    await expect.poll(held, { timeout: 60_000 }).toHaveLength(wanted.length);
    expect((await held()).filter((address) => wanted.includes(address))).toEqual([]);
  });

  it("an entry that nobody asks for (Harvester's leak) is not given away at once: it rests for the lease time", async () => {
    await harvesterPool({ "10.7.0.10": mac(9), "10.7.0.11": "not-a-mac", "10.7.0.12": "EXCLUDED" });
    await fixture.config("new", [{ network: blue, mac: mac(3), ip: "10.7.0.10" }]);
    fixture.lead();
    const isPending = await fixture.configIs(
      "new",
      "pending",
      ({ status }) => status?.networkConfigs?.[0]?.state === "Pending",
    );
    expect(isPending.status!.networkConfigs![0]!.message).toMatch(
      /10\.7\.0\.10 (is held by the MAC 02:00:00:00:02:09|was released and rests)/,
    );
    await expect
      .poll(async () =>
        (await fixture.holds({ isCooling: true })).map(
          ({ hold, cooling }) => `${hold.address} ${cooling !== undefined}`,
        ),
      )
      .toEqual(["10.7.0.10 true"]);
    fixture.advance(601_000);
    expect(await fixture.addressOf("new")).toBe("10.7.0.10");
  });

  it("a config that comes later with such a MAC gets the address that was recorded for it", async () => {
    await harvesterPool({ "10.7.0.12": mac(9) });
    fixture.lead({ pace: { strayAfterMs: 60_000 } });
    await fixture.booksAre(`10.7.0.12 blue ${mac(9)}`);
    await fixture.config("late", [{ network: blue, mac: mac(9) }]);
    expect(await fixture.addressOf("late")).toBe("10.7.0.12");
    await fixture.booksAre(`10.7.0.12 late ${mac(9)}`);
  });

  it("two configs that share one MAC and one address: the older keeps it, the other waits, and neither frees it for both", async () => {
    await harvesterPool({ "10.7.0.10": mac(1) });
    await harvesterConfig("a-first", [{ mac: mac(1), ip: "10.7.0.10" }]);
    await harvesterConfig("b-second", [{ mac: mac(1), ip: "10.7.0.10" }]);
    fixture.lead();
    await fixture.configIs("b-second", "pending", ({ status }) => status?.networkConfigs?.[0]?.state === "Pending");
    await fixture.remove(kinds.networkConfigs, "b-second");
    await fixture.goes(kinds.networkConfigs, "b-second");
    await fixture.booksAre(`10.7.0.10 a-first ${mac(1)}`);
    expect(await fixture.shown("a-first")).toEqual([`${mac(1)} 10.7.0.10 Allocated`]);
  });

  it("once: what the status says later is never read back", async () => {
    await harvesterPool({ "10.7.0.10": mac(1) });
    const first = fixture.lead();
    await fixture.poolIs(
      "blue",
      "taken over",
      ({ metadata }) => metadata.annotations?.[adoptedAnnotation] !== undefined,
    );
    await first.quiet();
    await first.stop();
    const body = { status: { ipv4: { allocated: { "10.7.0.13": mac(8) }, used: 1, available: 3 } } };
    await fixture.client.patch(
      kinds.managedPools,
      { namespace: shop, name: "blue" },
      { type: "merge", body },
      { subresource: "status" },
    );
    const second = fixture.lead();
    await second.quiet();
    expect((await fixture.holds({ isCooling: true })).map(({ hold }) => String(hold.address))).not.toContain(
      "10.7.0.13",
    );
  });
});
