// What a zone is told of the nodes of others, on Debian's OVN: chassis, ways to them, and where the transit switch's
// ports are. ovn-northd 23.03 leaves all of it to others.
import { afterAll, beforeAll, expect, it } from "vitest";

import { parseAddress } from "../../src/net/address.ts";
import { desiredOf } from "../../src/ovn/desired.ts";
import { type RemoteNode, Southbound } from "../../src/ovn/southbound/southbound.ts";
import { southbound, southboundTables } from "../../src/ovn/southbound/tables.ts";
import { featuresOf } from "../../src/ovn/zone/features.ts";
import { OvsdbClient } from "../../src/ovsdb/session/client.ts";
import { Central } from "./central.ts";
import { writerOf } from "./running.ts";
import { zoneOf } from "./zones.ts";

const remote = (name: string, last: number): RemoteNode => ({
  name,
  chassis: `chassis-${name}`,
  tunnelAddress: parseAddress(`172.30.0.${last}`),
});
const [n2, n3] = [remote("n2", 2), remote("n3", 3)];
const stop = new AbortController();
const limit = () => AbortSignal.timeout(60_000);
let central: Central;
let client: OvsdbClient;
let running: Promise<void>;

beforeAll(async () => {
  central = await Central.start(["chassis-n1"]);
  client = new OvsdbClient({ database: southbound, followed: southboundTables, endpoints: central.unix });
  running = client.run(stop.signal);
  await client.until(() => client.hasSynced || undefined, limit());
  await using writer = await writerOf(central);
  const zone = zoneOf({ of: "n1", features: featuresOf(writer.northbound.version) });
  await writer.northbound.apply(desiredOf(zone, [], { topology: true, vms: "all" }), limit());
  await writer.northbound.barrier("sb", limit());
});
afterAll(async () => {
  stop.abort();
  await running;
  await central[Symbol.asyncDispose]();
});

/** Writes until nothing more is to be written; how often it wrote. */
async function applied(...remotes: readonly RemoteNode[]): Promise<number> {
  const sb = new Southbound(client);
  for (let count = 0; ; count++) if (!(await sb.apply(remotes, limit()))) return count;
}

/** Name -> `is-remote` and the address of the way there. */
async function known(): Promise<Record<string, string>> {
  const names = (await central.sbctl("--bare", "--columns=name", "list", "Chassis")).split("\n").filter(Boolean);
  const words = names.map(async (name) => {
    const mark = await central.sbctl("--if-exists", "get", "Chassis", name, "other_config:is-remote");
    const ways = await central.sbctl("--bare", "--columns=ip", "find", "Encap", `chassis_name=${name}`);
    return [name, `${mark.trim()} ${ways.trim()}`] as const;
  });
  return Object.fromEntries(await Promise.all(words));
}

async function chassisOf(port: string): Promise<string> {
  const uuid = (
    await central.sbctl("--bare", "--columns=chassis", "find", "Port_Binding", `logical_port=${port}`)
  ).trim();
  return uuid === "" ? "" : (await central.sbctl("--bare", "--columns=name", "list", "Chassis", uuid)).trim();
}

const own = { "chassis-n1": " 172.30.0.1" };

it("nodes of other zones are there, with their ports, by one transaction", async () => {
  expect(await applied(n2, n3)).toBe(1);
  expect(await known()).toEqual({ ...own, "chassis-n2": '"true" 172.30.0.2', "chassis-n3": '"true" 172.30.0.3' });
  expect([await chassisOf("tstor-n2"), await chassisOf("tstor-n3")]).toEqual(["chassis-n2", "chassis-n3"]);
});

it("one that has another address now is reached there", async () => {
  expect(await applied(remote("n2", 22), n3)).toBe(1);
  expect(await known()).toMatchObject({ "chassis-n2": '"true" 172.30.0.22' });
});

it("one that has left is no more; this zone's own chassis stays, even if somebody names it", async () => {
  expect(await applied(n3, remote("n1", 9))).toBe(1);
  expect(await known()).toEqual({ ...own, "chassis-n3": '"true" 172.30.0.3' });
  expect(await chassisOf("tstor-n2")).toBe("");
});
