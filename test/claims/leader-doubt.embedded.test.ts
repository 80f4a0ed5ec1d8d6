// Doubts: lagging caches, unreadable objects, addresses without a hold. Nothing is freed by mistake; faults stay apart.
import { setTimeout as pause } from "node:timers/promises";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { ApiRequest, Transport } from "../../src/kube/transport/transport.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { drainingStories } from "./draining.ts";
import { type Leader, shop, Fixture, system } from "./leader-fixture.ts";

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.define("blue");
});
afterEach(() => fixture.close());
const addressOf = () => [...fixture.node.given.values()].at(-1);

/** Watches of these paths hear nothing until they are let go. */
class Deaf {
  readonly #heard = Promise.withResolvers<void>();
  readonly #paths: readonly string[];
  isOn = false;

  constructor(...paths: readonly string[]) {
    this.#paths = paths;
  }

  hear(): void {
    this.#heard.resolve();
  }

  readonly through =
    (transport: Transport): Transport =>
    async (request) => {
      const response = await transport(request);
      if (!this.#isDeafTo(request)) return response;
      return { ...response, body: this.#late(response.body) };
    };

  #isDeafTo({ path }: ApiRequest): boolean {
    return path.includes("watch=true") && this.#paths.some((each) => path.includes(each));
  }

  async *#late(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      if (this.isOn) await this.#heard.promise;
      yield chunk;
    }
  }
}

/** The leader has asked the server so often: each look that finds otherwise is followed by another. */
const looks = (leader: Leader, path: string, count = 3) =>
  until(async () => leader.requests.filter((each) => each === `GET ${path}`).length >= count, {
    what: `${count} looks at ${path}`,
  });

describe("caches that lag", () => {
  it("pods that are not told of: their address is not taken for unused", async () => {
    const deaf = new Deaf("/pods");
    const leader = fixture.lead({ through: deaf.through });
    const machine = await fixture.machine("vm1");
    await fixture.claimIs("vm1.blue", "made", () => true);
    deaf.isOn = true;
    await fixture.kubevirt.start(machine);
    const first = addressOf();
    // The leader sees a hold whose user it has never heard of, and asks.
    await looks(leader, `/apis/kubevirt.io/v1/namespaces/${shop}/virtualmachines/vm1`);
    expect(await fixture.books()).toEqual([`${first} vm1.blue 1`]);
    deaf.hear();
    await fixture.kubevirt.delete(machine);
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();
  });

  it("VMs that are not told of: a claim of one is not taken for nobody's", async () => {
    const first = fixture.lead();
    await fixture.machine("vm0");
    await fixture.claimIs("vm0.blue", "made", () => true);
    await first.stop();
    const deaf = new Deaf("/virtualmachines");
    deaf.isOn = true;
    // It lists before the next VM comes, and hears of its claim only, which another leader has made.
    const leader = fixture.lead({ through: deaf.through });
    await until(async () => (await leader.metric("holdfast_claims", { state: "PEND" })) === 1, { what: "vm0 counted" });
    const other = fixture.lead();
    const machine = await fixture.started("vm1");
    const address = addressOf();
    await fixture.kubevirt.stop(machine);
    await fixture.booksAre(`${address} vm1.blue 0`);
    await other.stop();
    const claim = await fixture.claimIs("vm1.blue", "made", () => true);
    await looks(leader, `/apis/kubevirt.io/v1/namespaces/${shop}/virtualmachines/vm1`);
    const after = await fixture.claim("vm1.blue");
    expect(after?.metadata.uid).toBe(claim.metadata.uid);
    expect(after?.metadata.deletionTimestamp).toBeUndefined();
    expect(await fixture.books()).toEqual([`${address} vm1.blue 0`]);
    deaf.hear();
    await fixture.kubevirt.delete(machine);
    await fixture.booksAre();
  });
});

describe("what cannot be undone", () => {
  it("an address is freed after its claim was read, and then the pods", async () => {
    const leader = fixture.lead();
    const machine = await fixture.started("vm1");
    await fixture.kubevirt.delete(machine);
    await fixture.booksAre();
    const freed = leader.requests.findLastIndex(
      (each) => each.startsWith("DELETE") && each.includes("overlappingrange"),
    );
    const before = leader.requests.slice(0, freed);
    const last = (path: string) => before.findLastIndex((each) => each.startsWith(`GET ${path}`));
    const claim = last(`/apis/k8s.cni.cncf.io/v1alpha1/namespaces/${shop}/ipamclaims/vm1.blue`);
    const pods = last(`/api/v1/namespaces/${shop}/pods?`);
    expect(claim).toBeGreaterThan(0);
    expect(pods).toBeGreaterThan(claim);
  });

  it("nothing of the ledger is touched while handing out is paused", async () => {
    fixture.lead();
    const machine = await fixture.started("vm1");
    const first = addressOf();
    const pausing = (paused: string) =>
      fixture.client.patch(
        kinds.configMaps,
        { namespace: system, name: "holdfast-state" },
        { type: "merge", body: { data: { paused } } },
      );
    await pausing("pools are being moved");
    await pause(1100); // what the leader has read of the state is at most a second old
    await fixture.kubevirt.delete(machine);
    await fixture.claimGoes("vm1.blue");
    expect(await fixture.books()).toEqual([`${first} vm1.blue 1`]);
    await pausing("");
    await fixture.booksAre();
  });
});

describe("objects that cannot be read", () => {
  it("keep nobody else waiting", async () => {
    await fixture.client.create(kinds.virtualMachines, {
      metadata: { namespace: shop, name: "odd" },
      spec: { template: { spec: { networks: [null, { multus: 7 }, "x"], domain: { devices: { interfaces: 5 } } } } },
    } as never);
    await fixture.client.create(kinds.networkAttachmentDefinitions, {
      metadata: { namespace: shop, name: "broken" },
      spec: { config: "{" },
    });
    await fixture.machine("lost", {
      nics: [
        { name: "blue", definition: "broken" },
        { name: "green", definition: "missing" },
      ],
    });
    await fixture.client.create(kinds.pods, {
      metadata: {
        namespace: shop,
        name: "virt-launcher-odd-1",
        labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "u" },
        annotations: { "kubevirt.io/domain": "odd", "k8s.v1.cni.cncf.io/networks": "[" },
      },
      spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
    } as kinds.Pod);
    fixture.lead();
    await fixture.started("vm1");
    expect(await fixture.books()).toEqual([`${addressOf()} vm1.blue 1`]);
    await fixture.told("Pod virt-launcher-odd-1 UnreadableNetworks");
  });

  it("a family whose writes are refused keeps no other waiting", async () => {
    const refuse =
      (transport: Transport): Transport =>
      async (request) => {
        if (request.method === "POST" && String(request.body).includes('"name":"bad.blue"')) {
          throw new Error("the test refuses it");
        }
        return transport(request);
      };
    const leader = fixture.lead({ through: refuse });
    await fixture.machine("bad");
    await fixture.started("vm1");
    await until(async () => (await leader.metric("holdfast_claim_failures_total")) > 0, { what: "a failure counted" });
    expect(await fixture.claim("bad.blue")).toBeUndefined();
  });
});

describe("addresses that a claim shows and nothing holds", () => {
  const consenting = { range: "10.9.0.0/24", network_name: "blue" };
  beforeEach(() => fixture.define("asked", consenting, shop, true));
  const stake = (name: string, ips: string[]) => fixture.stake(name, "asked", ips);

  it("are held for it", async () => {
    await stake("stake", ["10.9.0.77/24"]);
    fixture.lead();
    await fixture.booksAre("10.9.0.77 stake 0");
    const [held] = await fixture.held();
    expect(held?.hold.note?.pool).toMatch(new RegExp(`^${system}/`));
    await fixture.client.delete(kinds.ipamClaims, { namespace: shop, name: "stake" });
    await fixture.booksAre();
  });

  it("rest for it as for anybody else, and are held after that", async () => {
    const cooldownMs = 1500;
    const leader = fixture.lead({ cooldownMs });
    const machine = await fixture.started("vm1");
    const first = addressOf();
    await fixture.kubevirt.delete(machine);
    await fixture.booksAre();
    await stake("stake", [`${first}/24`]);
    await fixture.booksAre(`${first} stake 0`);
    expect(await leader.metric("holdfast_claim_failures_total")).toBe(0);
    const waited = leader.requests.filter((each) => each.startsWith("POST") && each.includes("overlappingrange"));
    expect(waited.length).toBeGreaterThan(1);
  });

  it("are another's: it says so, and the other keeps it", async () => {
    fixture.lead();
    await fixture.started("vm1");
    const first = addressOf();
    await stake("thief", [`${first}/24`]);
    await fixture.claimIs("thief", "in conflict", isRefused(marks.allocationReasons.addressConflict));
    expect(await fixture.books()).toEqual([`${first} vm1.blue 1`]);
  });

  it.each([
    ["the gateway's", "10.9.0.1/24"],
    ["an excluded one", "10.9.0.65/24"],
    ["one before the start", "10.9.0.5/24"],
    ["the broadcast address", "10.9.0.255/24"],
    ["one of another network", "10.77.0.7/24"],
  ])("are not %s, whoever's the claim is", async (_, ip) => {
    const bounds = { gateway: "10.9.0.1", exclude: ["10.9.0.64/28"], range_start: "10.9.0.10" };
    await fixture.define("bound", { ...consenting, ...bounds }, shop, true);
    fixture.lead();
    await fixture.stake("odd", "bound", [ip]);
    await fixture.claimIs("odd", "refused", isRefused(marks.allocationReasons.outOfRange));
    const machine = await fixture.machine("vm1", { nics: [{ name: "blue", definition: "bound" }] });
    await fixture.claimIs("vm1.blue", "made", () => true);
    await fixture.shows("vm1.blue", [ip]);
    await fixture.claimIs("vm1.blue", "refused", isRefused(marks.allocationReasons.outOfRange));
    expect(await fixture.books()).toEqual([]);
    await fixture.kubevirt.delete(machine);
  });

  it("another tenant's definition of the same name changes nothing about them", async () => {
    // Another domain with the same addresses: before, nobody could say which of the two was meant.
    await fixture.client.create(kinds.namespaces, { metadata: { name: "attacker" } });
    const config = { cniVersion: "1.0.0", name: "asked", type: "bridge" };
    const ipam = { type: "holdfast", range: "10.9.0.0/16", network_name: "theirs", cooldown: 3_000_000 };
    await fixture.client.create(kinds.networkAttachmentDefinitions, {
      metadata: { namespace: "attacker", name: "same" },
      spec: { config: JSON.stringify({ ...config, ipam }) },
    });
    fixture.lead();
    await stake("stake", ["10.9.0.77/24"]);
    await fixture.booksAre("10.9.0.77 stake 0");
    expect((await fixture.held()).map(({ hold }) => hold.domain)).toEqual(["network:blue"]);
    await fixture.client.delete(kinds.ipamClaims, { namespace: shop, name: "stake" });
    await fixture.booksAre();
    // It rests as long as its own network says, not as long as theirs.
    await stake("again", ["10.9.0.77/24"]);
    await fixture.booksAre("10.9.0.77 again 0");
  });
});

describe("addresses that a claim made by hand shows", () => {
  drainingStories(() => fixture);
});

const isRefused =
  (reason: string) =>
  ({ status }: kinds.StoredClaim): boolean =>
    status?.conditions?.find(({ type }) => type === marks.allocatedCondition)?.reason === reason;
