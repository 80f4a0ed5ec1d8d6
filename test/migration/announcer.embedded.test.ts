// The daemon's side of a move: each node says on its own switch what its neighbours need, and stops when the VM has
// moved on. KubeVirt played on the embedded API; frames are read back by their bytes.
import { afterEach, beforeEach, expect, it } from "vitest";

import { pods } from "../../src/cluster/resources.ts";
import { realClock } from "../../src/kube/clock.ts";
import { silent } from "../../src/log/log.ts";
import { announceAtMs } from "../../src/migration/neighbours/announcements.ts";
import { nodeSide } from "../../src/migration/node-side/side.ts";
import { macFromBytes, parseMac } from "../../src/net/mac.ts";
import { until } from "../lab/wait.ts";
import { Fixture, networksAnnotation } from "./fixture.ts";

const proxy = "0a:58:a9:fe:01:01";
const vmMac = "0a:58:0a:f4:01:04";

let f: Fixture;
const stopping = new AbortController();
let ended: Promise<unknown> = Promise.resolve();
/** Node -> what it said: `IP is at MAC, to MAC`. */
let said: Map<string, string[]>;
beforeEach(async () => {
  f = await Fixture.open();
  said = new Map(["n1", "n2", "n3"].map((node) => [node, []]));
  const sides = [...said].map(([node, words]) =>
    nodeSide({
      client: f.client,
      clock: realClock,
      log: silent,
      systemNamespace: "kube-system",
      node,
      switchEndpoints: "unix:/nonexistent/db.sock",
      watch: async () => false,
      say: (frames) => void words.push(...frames(parseMac("02:00:00:00:00:01")).flatMap((each) => wordsOf(each) ?? [])),
    }).run(stopping.signal, () => {}),
  );
  ended = Promise.all(sides);
});
afterEach(async () => {
  stopping.abort();
  await ended;
  await f.close();
});

/** Of an ARP reply. */
function wordsOf(frame: Uint8Array): string | undefined {
  const view = Buffer.from(frame);
  if (view.readUInt16BE(12) !== 0x0806 || view.readUInt16BE(20) !== 2) return undefined;
  const mac = (at: number) => macFromBytes(view.subarray(at, at + 6)).toString();
  return `${[...view.subarray(28, 32)].join(".")} is at ${mac(22)}, to ${mac(0)}`;
}

/** A pod of n1 that is no VM. */
async function neighbour(ip: string, mac: string): Promise<void> {
  const network = { default: { ip_addresses: [`${ip}/24`], mac_address: mac } };
  const annotations = { [networksAnnotation]: JSON.stringify(network) };
  const spec = { nodeName: "n1", containers: [{ name: "c", image: "i" }] };
  await f.client.create(pods, { metadata: { namespace: "default", name: "pod1", annotations }, spec });
}

it("at home the VM is behind the proxy, at its new node its neighbours are; back home all have their own MAC again", async () => {
  await neighbour("10.244.1.9", "0a:58:0a:f4:01:09");
  await f.lead();
  const vm = await f.started("vm1");
  const { target } = await f.migrated(vm, "n2");
  await f.shows("vm1", "n2 of n1: n2*");
  expect(target.node).toBe("n2");
  const everybody = "ff:ff:ff:ff:ff:ff";
  const away = {
    n1: `10.244.1.4 is at ${proxy}, to ${everybody}`,
    n2: `10.244.1.9 is at ${proxy}, to ${vmMac}`,
  };
  const times = (node: string, words: string) => said.get(node)!.filter((each) => each === words).length;
  await until(async () => times("n1", away.n1) === announceAtMs.length, { what: "n1 to have said it each time" });
  await until(async () => times("n2", away.n2) === announceAtMs.length, { what: "n2 to have said it each time" });
  expect([...said].map(([node, words]) => `${node} ${[...new Set(words)].join("; ")}`)).toEqual([
    `n1 ${away.n1}`,
    `n2 ${away.n2}`,
    "n3 ",
  ]);

  await f.migrated(vm, "n1");
  const home = [`10.244.1.4 is at ${vmMac}, to ${everybody}`, `10.244.1.9 is at 0a:58:0a:f4:01:09, to ${vmMac}`];
  for (const each of home)
    await until(async () => times("n1", each) === announceAtMs.length, { what: `n1 to have said ${each} each time` });
  expect(new Set(said.get("n1"))).toEqual(new Set([away.n1, ...home]));
});
