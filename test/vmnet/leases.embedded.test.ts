// What `holdfast leases`, `who` and `check` show of a VM network, from holds as the ledger writes them; and that a
// pool of whereabouts of the same name and range is no matter.
import { afterEach, beforeEach, expect, it } from "vitest";

import { examine } from "../../src/check/examine.ts";
import { readLedger, readSnapshot } from "../../src/check/snapshot.ts";
import { examineVmNetworks } from "../../src/check/vmnet/examine.ts";
import { readVmNetworks, readVmNetworksCheck } from "../../src/check/vmnet/snapshot.ts";
import { leaseRows } from "../../src/check/vmnet/table.ts";
import { answerLines, parseAsked, whoHolds } from "../../src/check/who.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { tellState } from "../ledger/told-state.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, shop, system } from "./agents-fixture.ts";

const nowMs = Date.parse("2026-11-18T04:00:00Z");
const domain = "vm-network:shop/net";
const { signal } = new AbortController();
const mac = (last: number) => `02:00:00:00:00:0${last}`;

let fixture: Fixture;
let ledger: ReservationLedger;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await installDefinitions(fixture.client);
  await tellState(fixture.client);
  ledger = new ReservationLedger({ client: fixture.client, namespace: system, now: () => nowMs });
  await fixture.network("net");
  await fixture.pool("blue", "net", { cidr: "10.48.0.0/24" });
});
afterEach(() => fixture.close());

const options = () => ({ client: fixture.client, systemNamespace: system, now: () => nowMs, signal });
const rows = async () =>
  leaseRows(await readVmNetworks(options()))
    .filter(({ state }) => state !== "reserved")
    .map((row) => [row.address, row.mac, row.vm, row.pool, row.state, row.until].join(" ").trim());

async function vm(name: string, nic: string, address: string) {
  const networkConfigs = [{ networkName: "shop/net", macAddress: nic }];
  const { metadata } = await fixture.client.create(kinds.networkConfigs, {
    metadata: { namespace: shop, name },
    spec: { vmName: name, networkConfigs },
  });
  const owner = { kind: "nic", uid: metadata.uid!, namespace: shop, name, nic } as const;
  const note = { pool: "shop/blue", mac: nic };
  const taken = await ledger.take({ domain, address: parseAddress(address), owner, note });
  expect(taken.outcome).toBe("taken");
  return owner;
}

it("an address that is taken, quarantined and given back is shown as what it is", async () => {
  const owner = await vm("web", mac(1), "10.48.0.10");
  expect(await rows()).toEqual(["10.48.0.10 02:00:00:00:00:01 shop/web shop/blue bound"]);

  const name = "vm-network.shop.net-10.48.0.10";
  const annotations = { "holdfast.io/quarantined-until": "2026-11-18T04:10:00.000Z probe" };
  await fixture.client.patch(
    kinds.holds,
    { namespace: system, name },
    { type: "merge", body: { metadata: { annotations } } },
  );
  expect(await rows()).toEqual([
    "10.48.0.10 02:00:00:00:00:01 shop/web shop/blue quarantined 2026-11-18T04:10:00.000Z",
  ]);

  await ledger.release({ domain, address: parseAddress("10.48.0.10"), owner: ownerKey(owner), cooldownMs: 600_000 });
  expect(await rows()).toEqual(["10.48.0.10 02:00:00:00:00:01 shop/web shop/blue resting 2026-11-18T04:10:00.000Z"]);
});

it("who answers by address, by MAC and by VM", async () => {
  const { uid } = await vm("web", mac(1), "10.48.0.10");
  await vm("db", mac(2), "10.48.0.11");
  const ledgerNow = await readLedger(options());
  for (const asked of ["10.48.0.10", "02-00-00-00-00-01", mac(1), "shop/web"]) {
    const [answer, ...more] = whoHolds(ledgerNow, parseAsked(asked));
    expect(more, asked).toEqual([]);
    expect(answerLines(answer!).filter((line) => !/since|why/.test(line))).toEqual([
      "10.48.0.10 of VM network shop/net: VM shop/web (02:00:00:00:00:01)",
      "  object       Hold kube-system/vm-network.shop.net-10.48.0.10",
      `  vmnetcfg UID ${uid}`,
      "  VM           shop/web",
      "  MAC          02:00:00:00:00:01",
      "  pool         shop/blue",
    ]);
  }
});

it("a pool of whereabouts with the same name has nothing to do with it", async () => {
  await vm("web", mac(1), "10.48.0.10");
  const spec = { range: "10.48.0.0/24", allocations: {} };
  for (const name of ["blue", "net"])
    await fixture.client.create(kinds.ipPools, { metadata: { namespace: shop, name }, spec });
  const findings = examine(await readSnapshot(options())).map(({ code }) => code);
  expect(findings).not.toContain("hold-without-entry");
});

it("check finds what does not fit together", async () => {
  await vm("web", mac(1), "10.48.0.10");
  await fixture.client.delete(kinds.networkConfigs, { namespace: shop, name: "web" });
  const found = examineVmNetworks(await readVmNetworksCheck(options())).map(({ code }) => code);
  expect(found).toEqual(["vm-pool-agents", "vm-hold-without-config"]);
});
