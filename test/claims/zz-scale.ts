import { Stage, shop, system } from "./leader-stage.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import * as kinds from "../../src/ledger/resources.ts";
import { ReservationLedger } from "../../src/ledger/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
const n = Number(process.argv[2] ?? 2000);
const stage = await Stage.open(await embeddedServer());
await stage.define("blue", { range: "10.9.0.0/16" });
const net = (nics: string[]) => ({ networks: [{ name: "default", pod: {} }, ...nics.map((name) => ({ name, multus: { networkName: "blue" } }))], domain: { devices: { interfaces: [{ name: "default" }, ...nics.map((name) => ({ name, macAddress: undefined }))] } } });
let t = performance.now();
for (let i = 0; i < n; i++) await stage.client.create(kinds.virtualMachines, { metadata: { namespace: shop, name: `vm${i}` }, spec: { runStrategy: "Halted", template: { spec: net(["blue"]) } } } as never);
console.log("VMs", performance.now() - t);
const first = stage.lead();
const wait = async (leader: typeof first, state: string) => { while ((await leader.metric("holdfast_claims", { state })) !== n) await new Promise((r) => setTimeout(r, 5)); };
t = performance.now();
await wait(first, "PEND");
console.log("claims made", performance.now() - t);
const ledger = new ReservationLedger({ client: stage.client, namespace: system, now: Date.now });
const claims = (await stage.client.list(kinds.ipamClaims, {})).items;
t = performance.now();
for (let i = 0; i < n; i++) {
  const { uid = "", namespace = "", name = "", annotations = {} } = claims[i]!.metadata;
  await ledger.take({ domain: "network:blue", address: parseAddress(`10.9.${1 + (i >> 8)}.${i & 255}`), owner: { kind: "claim", uid, namespace, name }, note: { pool: `${system}/blue-10.9.0.0-16`, identity: `${annotations["holdfast.io/claim-owner"]}/blue` } });
}
console.log("holds", performance.now() - t);
await wait(first, "RSVD");
await new Promise((r) => setTimeout(r, 3000));
console.log("requests of the first", first.requests.length, first.requests.slice(-3));
await first.stop();
for (let round = 0; round < 6; round++) {
  const cpu = process.cpuUsage();
  t = performance.now();
  const second = stage.lead();
  await wait(second, "RSVD");
  const used = process.cpuUsage(cpu);
  console.log("restart", performance.now() - t, "cpu", (used.user + used.system) / 1000, "requests", second.requests.length, "writes", second.writes);
  await second.stop();
}
await stage.close();
