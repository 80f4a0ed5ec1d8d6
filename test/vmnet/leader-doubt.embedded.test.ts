// What the leader of managed DHCP does when it cannot know: kinds that are missing or come late, network configs that
// are all gone at once, holds that others touched, other collectors at work. Nothing is freed on a guess.
import { setTimeout as pause } from "node:timers/promises";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as kinds from "../../src/cluster/resources.ts";
import { stateName } from "../../src/cluster/state.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, isTrue, shop, system } from "./leader-fixture.ts";

const blue = `${shop}/blue`;
const mac = (number: number) =>
  `02:00:00:03:${(number >> 8).toString(16).padStart(2, "0")}:${(number & 255).toString(16).padStart(2, "0")}`;
const crds = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

let fixture: Fixture;
afterEach(() => fixture.close());

describe("a cluster without the kinds", () => {
  beforeEach(async () => {
    fixture = await Fixture.open(await embeddedServer(), { isBare: true });
  });

  it("is left alone by a whole controller, and served as soon as it has them", async () => {
    const leader = fixture.lead({ reconcilers: ["pools", "slices", "claims", "vmnet"] });
    await leader.quiet(500);
    expect(leader.error).toBeUndefined();
    expect(leader.writes.filter((line) => /harvesterhci|kubevirt|holds/.test(line))).toEqual([]);
    await fixture.installKinds();
    await fixture.network("blue");
    await fixture.pool("blue");
    await fixture.vm("web", [{ network: "blue", mac: mac(1) }]);
    expect(await fixture.addressOf("web")).toMatch(/^10\.7\.0\.1\d$/);
  });
});

describe("network configs that cannot be read, or are gone", () => {
  beforeEach(async () => {
    fixture = await Fixture.open(await embeddedServer());
    await fixture.network("blue");
  });

  it("their kind is taken away while nobody leads: nothing is freed", async () => {
    await fixture.pool("blue");
    const first = fixture.lead();
    await fixture.config("web", [{ network: blue, mac: mac(1) }]);
    const address = await fixture.addressOf("web");
    await first.stop();
    await fixture.edit(kinds.networkConfigs, "web", { metadata: { finalizers: null } });
    await fixture.client.delete(crds, { name: "virtualmachinenetworkconfigs.network.harvesterhci.io" });
    const second = fixture.lead();
    await pause(1000);
    await fixture.booksAre(`${address} web ${mac(1)}`);
    expect(second.error).toBeUndefined();
  });

  it("very many are gone at once: nothing is freed until somebody says so", async () => {
    await fixture.pool("blue", { start: "10.7.0.10", end: "10.7.0.200" });
    const first = fixture.lead();
    const names = Array.from({ length: 60 }, (_, index) => `vm${index}`);
    for (const [index, name] of names.entries()) await fixture.config(name, [{ network: blue, mac: mac(index) }]);
    for (const name of names) await fixture.addressOf(name);
    await first.stop();
    for (const name of names) {
      await fixture.edit(kinds.networkConfigs, name, { metadata: { finalizers: null } });
      await fixture.remove(kinds.networkConfigs, name);
    }
    const second = fixture.lead();
    expect(await fixture.told(/ConfigMap holdfast-state VmAddressesHeldBack/)).toContain(
      "60 of 60 held addresses look leaked at once",
    );
    expect((await fixture.books()).length).toBe(60);
    await second.stop();
    fixture.lead({ allowMassRelease: true });
    await fixture.booksAre();
  });

  it("a hold that somebody deleted is taken again, at the same address", async () => {
    await fixture.pool("blue");
    fixture.lead();
    await fixture.config("web", [{ network: blue, mac: mac(1) }]);
    const address = await fixture.addressOf("web");
    const [held] = await fixture.holds();
    const uid = held!.object.metadata.uid;
    await fixture.remove(kinds.holds, held!.object.metadata.name!, "Background", system);
    await expect.poll(async () => (await fixture.holds())[0]?.object.metadata.uid).not.toBe(uid);
    await fixture.booksAre(`${address} web ${mac(1)}`);
  });

  it("the reconcilers of shared pools do not even follow holds of VM networks: no leak, no mirror, no sweep is theirs", async () => {
    await fixture.pool("blue");
    const leader = fixture.lead({ reconcilers: ["pools", "slices", "claims", "vmnet"], allowMassRelease: true });
    await fixture.config("web", [{ network: blue, mac: mac(1) }]);
    const address = await fixture.addressOf("web");
    const { holds } = leader.caches;
    // One that they do follow, made after it: the watch has shown whatever came before.
    const spec = {
      domain: "pool:kube-system/p",
      address: "10.1.0.1",
      owner: { kind: "claim", uid: "u", namespace: shop, name: "c", port: "" },
    };
    const metadata = { namespace: system, name: "pool.kube-system.p-10.1.0.1" };
    await fixture.client.create(kinds.holds, { metadata, spec } as kinds.StoredHold);
    await expect.poll(() => holds.cache.size).toBe(1);
    expect([...holds.cache.list()].map((each) => each.metadata.name)).toEqual([metadata.name]);
    await fixture.booksAre(`${address} web ${mac(1)}`);
  });

  it("while handing out is paused nothing is written, and everything after", async () => {
    await fixture.client.create(kinds.configMaps, {
      metadata: { namespace: system, name: stateName },
      data: { coexistence: "off", paused: "a migration" },
    });
    await fixture.pool("blue");
    const leader = fixture.lead();
    await fixture.config("web", [{ network: blue, mac: mac(1) }]);
    await leader.quiet(500);
    expect(leader.writes).toEqual([]);
    await fixture.edit(kinds.configMaps, stateName, { data: { paused: "" } }, system);
    await fixture.addressOf("web");
  });

  it("a take whose answer is lost gives one address, not two", async () => {
    await fixture.pool("blue");
    const { transport } = fixture.server;
    let lost = 0;
    const losing: Transport = async (request) => {
      const answer = await transport(request);
      if (request.method !== "POST" || !request.path.includes("/holds") || lost >= 2) return answer;
      lost += 1;
      throw new Error("the answer was lost");
    };
    Object.assign(fixture.server, { transport: losing });
    fixture.lead();
    await fixture.config("web", [
      { network: blue, mac: mac(1) },
      { network: blue, mac: mac(2) },
    ]);
    await fixture.configIs("web", "allocated", (config) => isTrue(config, "Allocated"));
    expect(lost).toBe(2);
    expect((await fixture.holds({ isCooling: true })).length).toBe(2);
    Object.assign(fixture.server, { transport });
  });

  it("two leaders at once give each NIC one address in the end", async () => {
    await fixture.pool("blue", { start: "10.7.0.10", end: "10.7.0.99" });
    const both = [fixture.lead(), fixture.lead()];
    const names = Array.from({ length: 12 }, (_, index) => `vm${index}`);
    await Promise.all(names.map((name, index) => fixture.vm(name, [{ network: "blue", mac: mac(index) }])));
    for (const name of names) await fixture.addressOf(name);
    for (const leader of both) await leader.quiet();
    const books = await fixture.books();
    expect(books.map((line) => line.split(" ")[1] ?? "").toSorted()).toEqual(names.toSorted());
    for (const name of names) expect(books.join("\n")).toContain(`${await fixture.addressOf(name)} ${name} `);
  });
});
