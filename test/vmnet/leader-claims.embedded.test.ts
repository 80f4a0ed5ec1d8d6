// Claims on networks with managed DHCP, on the embedded API, with the leader of claims beside ours: one hold for both.
import { afterEach, beforeEach, expect, it } from "vitest";

import { claimNicAnnotation } from "../../src/api/claims/claim-marks.ts";
import { installClaimDefinition } from "../../src/claims/crd.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, isTrue, type Leader, messageOf, shop } from "./leader-fixture.ts";

const macs = { a: "02:00:00:00:01:0a", b: "02:00:00:00:01:0b", c: "02:00:00:00:01:0c" } as const;
type Claim = kinds.StoredClaim;

let fixture: Fixture;
let leader: Leader;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await installClaimDefinition({ client: fixture.client, dryRun: false, signal: AbortSignal.timeout(10_000) });
  await fixture.served(kinds.ipamClaims);
  await fixture.network("blue");
  leader = fixture.lead({ reconcilers: ["vmnet", "claims"] });
});
afterEach(() => fixture.close());

const ipv6Config = { cidr: "fd00:7::/64", leaseTime: 600, pool: { start: "fd00:7::10", end: "fd00:7::10" } };

async function claim(name: string, { vm = "", uid = "", network = "blue", nic = "" } = {}): Promise<void> {
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: vm, uid, controller: true };
  const metadata = {
    namespace: shop,
    name,
    ...(vm !== "" && { ownerReferences: [owner] }),
    ...(nic !== "" && { annotations: { [claimNicAnnotation]: nic } }),
  };
  await fixture.client.create(kinds.ipamClaims, { metadata, spec: { network, interface: "" } });
}

const shows = (name: string, ...ips: string[]) =>
  fixture.is<Claim>(kinds.ipamClaims, name, `showing ${ips.join(" ")}`, (each) => {
    return each.status !== undefined && each.status.ips?.join(" ") === ips.join(" ");
  });

it("a claim shows what its NIC has, follows it, and frees nothing when it goes", async () => {
  await fixture.pool("blue", { start: "10.7.0.10", end: "10.7.0.10", ipv6Config });
  const uid = await fixture.vm("web", [{ network: "blue", mac: macs.a }]);
  await claim("web.nic0", { vm: "web", uid });
  const shown = await shows("web.nic0", "10.7.0.10/24", "fd00:7::10/64");
  expect(isTrue(shown, "IPsAllocated")).toBe(true);
  expect(messageOf(shown, "IPsAllocated")).toContain("the NIC nic0 of vmnetcfg shop/web has it by managed DHCP");
  await fixture.booksAre(`10.7.0.10 web ${macs.a}`, `fd00:7::10 web ${macs.a}`);

  await fixture.setNics("web", [{ network: "blue", mac: macs.b }]);
  await fixture.booksAre(`10.7.0.10 web ${macs.b}`, `fd00:7::10 web ${macs.b}`);
  await shows("web.nic0", "10.7.0.10/24", "fd00:7::10/64");

  await fixture.remove(kinds.ipamClaims, "web.nic0");
  await leader.quiet();
  await fixture.booksAre(`10.7.0.10 web ${macs.b}`, `fd00:7::10 web ${macs.b}`);
  await fixture.remove(kinds.virtualMachines, "web");
  await fixture.goes(kinds.ipamClaims, "web.nic0");
  await fixture.booksAre();
});

it("one that was there before its network was managed: shown when the NIC has its address", async () => {
  const uid = await fixture.vm("web", [{ network: "blue", mac: macs.a }]);
  await claim("web.nic0", { vm: "web", uid });
  await leader.quiet();
  expect((await fixture.find(kinds.ipamClaims, "web.nic0"))?.status).toBeUndefined();
  await fixture.pool("blue", { start: "10.7.0.10", end: "10.7.0.10" });
  await shows("web.nic0", "10.7.0.10/24");
});

it("of two NICs the one that it is for; where nothing says which, it says so", async () => {
  await fixture.pool("blue", { start: "10.7.0.10", end: "10.7.0.11" });
  const uid = await fixture.vm("web", [
    { network: "blue", mac: macs.a },
    { network: "blue", mac: macs.b },
  ]);
  const second = await fixture.addressOf("web", 1);
  await claim("anything", { vm: "web", uid, nic: "nic1" });
  await claim("web.nic0", { vm: "web", uid });
  await claim("vague", { vm: "web", uid });
  await shows("anything", `${second}/24`);
  await shows("web.nic0", `${await fixture.addressOf("web", 0)}/24`);
  const vague = await shows("vague");
  expect(messageOf(vague, "IPsAllocated")).toMatch(/is not clear \(nic0, nic1\): write the annotation/);
  expect(await fixture.books()).toHaveLength(2);
});

it("without a VM's NIC, or without an address, it says why, and holds nothing", async () => {
  await fixture.pool("blue", { start: "10.7.0.10", end: "10.7.0.10" });
  await claim("by-hand");
  const byHand = await shows("by-hand");
  expect(byHand.status?.conditions?.[0]).toMatchObject({ status: "False", reason: "NoVirtualMachineNIC" });
  expect(messageOf(byHand, "IPsAllocated")).toContain("shop/blue has managed DHCP");
  await fixture.network("plain");
  const uid = await fixture.vm("other", [{ network: "plain", mac: macs.c }]);
  await claim("misplaced", { vm: "other", uid });
  expect(messageOf(await shows("misplaced"), "IPsAllocated")).toContain("VM shop/other has none there");
  await fixture.vm("web", [{ network: "blue", mac: macs.a }]);
  await fixture.addressOf("web");
  const late = await fixture.vm("late", [{ network: "blue", mac: macs.b }]);
  await claim("late.nic0", { vm: "late", uid: late });
  const waits = await shows("late.nic0");
  expect(waits.status?.conditions?.[0]).toMatchObject({ status: "False", reason: "AddressPending" });
  expect(messageOf(waits, "IPsAllocated")).toContain("vmnetcfg shop/late says why");
  await fixture.booksAre(`10.7.0.10 web ${macs.a}`);
});

it("where another IPAM gives addresses by this network's name, it is left to that", async () => {
  await fixture.pool("blue");
  await fixture.network("blue-too", shop, { name: "blue", ipam: { type: "host-local" } });
  await claim("by-hand");
  await leader.quiet();
  expect((await fixture.find(kinds.ipamClaims, "by-hand"))?.status).toBeUndefined();
});
