// The daemon says on its Node which chassis the machine is, as Open vSwitch's own database has it, and what its gateway
// is; and says it again when either changes, or a hand has changed what the Node says.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, it } from "vitest";

import { nodes } from "../../src/cluster/resources.ts";
import { realClock } from "../../src/kube/clock.ts";
import { silent } from "../../src/log/log.ts";
import { nodeSide } from "../../src/migration/node-side/side.ts";
import { until } from "../lab/wait.ts";
import { VirtualSwitchDatabase } from "../ovn/virtual-switch-database.ts";
import { Fixture } from "./fixture.ts";

const run = promisify(execFile);
let f: Fixture;
let database: VirtualSwitchDatabase;
const stopping = new AbortController();
let ended: Promise<unknown>;
beforeAll(async () => {
  [f, database] = await Promise.all([Fixture.open(), VirtualSwitchDatabase.start()]);
  ended = nodeSide({
    client: f.client,
    clock: realClock,
    log: silent,
    systemNamespace: "kube-system",
    node: "n1",
    switchEndpoints: database.unix,
    gateway: (mappings) => ({ text: JSON.stringify({ default: { mappings: Object.fromEntries(mappings) } }) }),
    say: () => {},
    watch: async () => false,
  }).run(stopping.signal, () => {});
});
afterAll(async () => {
  stopping.abort();
  await ended;
  await f?.close();
  await database?.[Symbol.asyncDispose]();
});

async function said(): Promise<string> {
  const { metadata } = await f.client.get(nodes, { name: "n1" });
  const { "k8s.ovn.org/node-chassis-id": chassis, "k8s.ovn.org/l3-gateway-config": gateway = "-" } =
    metadata.annotations ?? {};
  return `${chassis} ${gateway}`;
}
const says = (words: string) => until(async () => (await said()) === words, { what: `the Node to say ${words}` });
const gateway = (bridge: string) => `{"default":{"mappings":{"physnet":"${bridge}"}}}`;

it("once Open vSwitch has a name, and at each change", async () => {
  await database.set({ "system-id": "chassis-1", "ovn-bridge-mappings": "physnet:br-ex" });
  await says(`chassis-1 ${gateway("br-ex")}`);
  await database.set({ "system-id": "chassis-1", "ovn-bridge-mappings": "physnet:br-lan" });
  await says(`chassis-1 ${gateway("br-lan")}`);
  const annotations = { "k8s.ovn.org/node-chassis-id": "another" };
  await f.client.patch(nodes, { name: "n1" }, { type: "merge", body: { metadata: { annotations } } });
  await says(`chassis-1 ${gateway("br-lan")}`);
  expect((await run("ovsdb-client", ["list-dbs", database.unix])).stdout).toContain("Open_vSwitch");
});
