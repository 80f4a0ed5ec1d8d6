// The life of a VM on three zones of one node each: every zone has databases and a writer of its own. The rows of each,
// and where packets go within it, up to the transit switch and from there on.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { desiredOf } from "../../src/ovn/desired.ts";
import type { VmPlacement } from "../../src/ovn/vm/placement.ts";
import { featuresOf } from "../../src/ovn/zone/features.ts";
import { Central } from "./central.ts";
import { type Writer, writerOf } from "./running.ts";
import { vmAt, zoneOf } from "./zones.ts";

const names = ["n1", "n2", "n3"] as const;
type Name = (typeof names)[number];
const [vmMac, vmIp, proxyMac] = ["0a:58:0a:f4:00:04", "10.244.0.4", "0a:58:a9:fe:01:01"];
const all = { topology: true, vms: "all" } as const;
const signal = () => AbortSignal.timeout(60_000);
const transit = (node: Name) => `100.88.0.${Number(node.slice(1)) + 1}`;

const zones = new Map<Name, { central: Central; writer: Writer }>();
beforeAll(async () => {
  for (const name of names) {
    const others = names.filter((each) => each !== name).map((each) => `chassis-${each}`);
    const central = await Central.start([`chassis-${name}`], others);
    zones.set(name, { central, writer: await writerOf(central) });
  }
});
afterAll(async () => {
  for (const { central, writer } of zones.values()) {
    await writer[Symbol.asyncDispose]();
    await central[Symbol.asyncDispose]();
  }
});

async function moved(vms: readonly VmPlacement[]): Promise<number[]> {
  const sent: number[] = [];
  for (const [of, { writer }] of zones) {
    const { northbound } = writer;
    const zone = zoneOf({ of, features: featuresOf(northbound.version) });
    sent.push((await northbound.apply(desiredOf(zone, vms, all), signal())).transactions);
    await northbound.barrier("sb", signal());
  }
  return sent;
}

const rows = async (of: Name, table: string, columns: string, ...where: readonly string[]) => {
  const text = await zones
    .get(of)!
    .central.nbctl("--format=csv", "--data=bare", "--no-headings", `--columns=${columns}`, "find", table, ...where);
  return text.split("\n").filter(Boolean).sort();
};
const routes = (of: Name) => rows(of, "Logical_Router_Static_Route", "nexthop,output_port", `ip_prefix=${vmIp}`);
const dhcp = async (of: Name) => (await rows(of, "DHCP_Options", "cidr")).length;

interface Stage {
  readonly about: string;
  readonly vm: VmPlacement;
  readonly at: Name;
  readonly port: string;
  /** Per zone n1, n2, n3: DHCP_Options rows. */
  readonly options: readonly number[];
}

const stages: readonly Stage[] = [
  { about: "at home", vm: vmAt(["vl-a@n1"], "vl-a@n1"), at: "n1", port: "t_vl-a", options: [2, 0, 0] },
  {
    about: "a target waits",
    vm: vmAt(["vl-a@n1", "vl-b@n2"], "vl-a@n1"),
    at: "n1",
    port: "t_vl-a",
    options: [2, 2, 0],
  },
  {
    about: "the target is ready",
    vm: vmAt(["vl-a@n1", "vl-b@n2"], "vl-b@n2"),
    at: "n2",
    port: "t_vl-b",
    options: [2, 2, 0],
  },
  { about: "a third node", vm: vmAt(["vl-c@n3"], "vl-c@n3"), at: "n3", port: "t_vl-c", options: [0, 0, 2] },
  { about: "back home", vm: vmAt(["vl-d@n1"], "vl-d@n1"), at: "n1", port: "t_vl-d", options: [2, 0, 0] },
];

describe("interconnected zones", () => {
  it.each(stages)("$about", async ({ vm, at, port, options }) => {
    const before = await rows("n3", "Logical_Router_Static_Route", "_uuid", `ip_prefix=${vmIp}`);
    await moved([vm]);
    for (const [index, zone] of names.entries()) {
      const remote = `${transit(at)},`;
      const expected = at === "n1" ? [] : [zone === at ? `${vmIp},rtos-${at}` : remote];
      expect(await routes(zone)).toEqual(expected);
      expect(await dhcp(zone)).toBe(options[index]);
      // The route of the whole cluster is enough where a zone has one gateway.
      expect(await rows(zone, "Logical_Router_Policy", "match", "priority=10")).toEqual([]);
    }
    const after = await rows("n3", "Logical_Router_Static_Route", "_uuid", `ip_prefix=${vmIp}`);
    if (at !== "n1" && before.length > 0) expect(after).toEqual(before); // never without a route
    expect(await moved([vm])).toEqual([0, 0, 0]);

    const { central } = zones.get(at)!;
    if (at !== "n1") await central.learn("ovn_cluster_router", `rtos-${at}`, vmIp, vmMac);
    await central.learn(`GR_${at}`, `rtoe-GR_${at}`, "172.30.0.254", "02:00:00:00:03:fe");
    const from = { port, mac: vmMac, ip: vmIp };
    expect(await central.arp(at, from, "169.254.1.1")).toBe(proxyMac);
    const flow = (inport: string, src: string, dst: string, ips: readonly [string, string]) =>
      `inport=="${inport}" && eth.src==${src} && eth.dst==${dst} && ip4.src==${ips[0]} && ip4.dst==${ips[1]} && ip.ttl==64 && icmp4.type==8`;
    const out = await central.trace(at, flow(port, vmMac, proxyMac, [vmIp, "8.8.8.8"]));
    expect(out.slice(-3)).toEqual([`snat 172.30.0.${at.slice(1)}`, `rtoe-GR_${at}`, `breth0_${at}`]);

    for (const node of names) {
      const index = Number(node.slice(1));
      const host = { port: `k8s-${node}`, mac: `02:00:00:00:02:0${index}`, ip: `10.244.${index - 1}.2` };
      const near = zones.get(node)!.central;
      const isOnLink = node === "n1" && at === "n1";
      const answer = await near.arp(node, host, node === "n1" ? vmIp : `10.244.${index - 1}.1`);
      expect(answer).toBe(isOnLink ? vmMac : proxyMac);
      const way = await near.trace(node, flow(host.port, host.mac, answer!, [host.ip, vmIp]));
      if (node === at) expect(way.at(-1)).toBe(port);
      else {
        expect(way).toEqual([`stor-${node}`, `rtots-${node}`, `tstor-${at}`]);
        // And on, in the zone of the VM: from the transit switch's port of the sender.
        const [here, there] = [index + 1, Number(at.slice(1)) + 1].map((each) => `0a:58:64:58:00:0${each}`) as [
          string,
          string,
        ];
        const rest = await central.trace("transit_switch", flow(`tstor-${node}`, here, there, [host.ip, vmIp]));
        expect(rest).toEqual([`tstor-${at}`, `rtos-${at}`, port]);
      }
    }
  });

  it("a VM that is gone leaves nothing in any zone", async () => {
    await moved([]);
    for (const zone of names) expect([await routes(zone), await dhcp(zone)]).toEqual([[], 0]);
  });
});
