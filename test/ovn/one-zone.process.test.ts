// The life of a VM on three nodes of one zone: the rows that ovn-nbctl shows, and where ovn-trace says that packets go.
// Debian's OVN 23.03 with what is written for it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { desiredOf } from "../../src/ovn/desired.ts";
import type { VmPlacement } from "../../src/ovn/vm/placement.ts";
import { featuresOf } from "../../src/ovn/zone/features.ts";
import { Central } from "./central.ts";
import { type Writer, writerOf } from "./running.ts";
import { vmAt, zoneOf } from "./zones.ts";

const vmMac = "0a:58:0a:f4:00:04";
const vmIp = "10.244.0.4";
const proxyMac = "0a:58:a9:fe:01:01";
const all = { topology: true, vms: "all" } as const;
const signal = () => AbortSignal.timeout(60_000);

/** A pod on each node, which others have made. */
const pods = { n1: "10.244.0.9", n2: "10.244.1.9", n3: "10.244.2.9" } as const;
const podMac = (node: keyof typeof pods) => `0a:58:0a:f4:0${Number(node.slice(1)) - 1}:09`;

let central: Central;
let writer: Writer;
let zone: ReturnType<typeof zoneOf>;
beforeAll(async () => {
  central = await Central.start(["chassis-n1", "chassis-n2", "chassis-n3"]);
  writer = await writerOf(central);
  const { northbound } = writer;
  zone = zoneOf({ features: featuresOf(northbound.version) });
  await northbound.apply(desiredOf(zone, [], all), signal());
  for (const [node, ip] of Object.entries(pods)) {
    const mac = podMac(node as keyof typeof pods);
    await central.nbctl("lsp-add", node, `pod-${node}`, "--", "lsp-set-addresses", `pod-${node}`, `${mac} ${ip}`);
  }
  await northbound.barrier("sb", signal());
  for (const node of Object.keys(pods)) {
    await central.learn(`GR_${node}`, `rtoe-GR_${node}`, "172.30.0.254", "02:00:00:00:03:fe");
  }
});
afterAll(async () => {
  await writer?.[Symbol.asyncDispose]();
  await central?.[Symbol.asyncDispose]();
});

async function moved(vms: readonly VmPlacement[]) {
  const applied = await writer.northbound.apply(desiredOf(zone, vms, all), signal());
  await writer.northbound.barrier("sb", signal());
  return applied;
}

const words = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim().replaceAll(/ +/g, " "))
    .filter((line) => line.includes(vmIp) && !line.includes("10.244.0.0"));
const routes = async () => words(await central.nbctl("lr-route-list", "ovn_cluster_router"));
const policies = async () => words(await central.nbctl("lr-policy-list", "ovn_cluster_router"));
const addresses = async (port: string) => (await central.nbctl("lsp-get-addresses", port)).trim();
const uuids = async (table: string, ...where: readonly string[]) =>
  (await central.nbctl("--bare", "--columns=_uuid", "find", table, ...where)).split("\n").filter(Boolean).sort();
const dhcp = () => uuids("DHCP_Options", "external_ids:k8s.ovn.org/name=t/vm1");

/** Over the cluster router, where it is not on the link. */
const path = (isOnLink: boolean, from: string, to: string, port: string) =>
  isOnLink ? [port] : [`stor-${from}`, `rtos-${to}`, port];
const pathOut = (node: string) => [
  `stor-${node}`,
  "rtoj-ovn_cluster_router",
  `jtor-GR_${node}`,
  `snat 172.30.0.${node.slice(1)}`,
  `rtoe-GR_${node}`,
  `breth0_${node}`,
];

interface Stage {
  readonly about: string;
  readonly vm: VmPlacement;
  /** The node and the port of the active pod. */
  readonly at: keyof typeof pods;
  readonly port: string;
  /** Ports that are there and have lost the VM's addresses. */
  readonly silent?: readonly string[];
}

const stages: readonly Stage[] = [
  { about: "at home", vm: vmAt(["vl-a@n1"], "vl-a@n1"), at: "n1", port: "t_vl-a" },
  {
    about: "a target waits on n2",
    vm: vmAt(["vl-a@n1", "vl-b@n2"], "vl-a@n1"),
    at: "n1",
    port: "t_vl-a",
    silent: ["t_vl-b"],
  },
  {
    about: "the target is ready",
    vm: vmAt(["vl-a@n1", "vl-b@n2"], "vl-b@n2"),
    at: "n2",
    port: "t_vl-b",
    silent: ["t_vl-a"],
  },
  { about: "the source is gone", vm: vmAt(["vl-b@n2"], "vl-b@n2"), at: "n2", port: "t_vl-b" },
  { about: "a third node", vm: vmAt(["vl-b@n2", "vl-c@n3"], "vl-c@n3"), at: "n3", port: "t_vl-c", silent: ["t_vl-b"] },
  { about: "that target failed after it was ready", vm: vmAt(["vl-b@n2"], "vl-b@n2"), at: "n2", port: "t_vl-b" },
  { about: "a third node again", vm: vmAt(["vl-d@n3"], "vl-d@n3"), at: "n3", port: "t_vl-d" },
  { about: "back home", vm: vmAt(["vl-d@n3", "vl-e@n1"], "vl-e@n1"), at: "n1", port: "t_vl-e", silent: ["t_vl-d"] },
];

describe("one zone", () => {
  it("tells its version", () => {
    expect(writer.northbound.version).toEqual({ major: 23, minor: 3 });
  });

  let options: readonly string[] = [];
  it.each(stages)("$about: rows", async ({ vm, at, port, silent = [] }) => {
    const before = await uuids("Logical_Router_Static_Route", `ip_prefix=${vmIp}`);
    const { transactions, conflicts } = await moved([vm]);
    expect({ transactions, conflicts }).toEqual({ transactions: 1, conflicts: [] });
    const isAway = at !== "n1";
    expect(await routes()).toEqual(isAway ? [`${vmIp} ${vmIp} dst-ip rtos-${at}`] : []);
    const gateway = `100.64.0.${Number(at.slice(1)) + 1}`;
    expect(await policies()).toEqual(isAway ? [`10 ip4.src == ${vmIp} reroute ${gateway}`] : []);
    expect(await addresses(port)).toBe(`${vmMac} ${vmIp} fd10:244:0:1::4`);
    for (const each of silent) expect(await addresses(each)).toBe("");
    expect(await uuids("Logical_Switch_Port", "external_ids:k8s.ovn.org/vm=vm1")).toHaveLength(vm.ports.length);

    const now = await uuids("Logical_Router_Static_Route", `ip_prefix=${vmIp}`);
    if (isAway && before.length > 0) expect(now).toEqual(before); // changed in place
    if (options.length === 0) options = await dhcp();
    expect(await dhcp()).toEqual(options);
    expect(options).toHaveLength(2);
    for (const { podName, node } of vm.ports) {
      const shown = await central.nbctl("list", "Logical_Switch_Port", `t_${podName}`);
      for (const uuid of options) expect(shown).toContain(uuid);
      expect(shown).toContain(`requested-chassis=chassis-${node}`);
    }
    const binding = await central.sbctl(
      "--bare",
      "--columns=logical_port,mac",
      "find",
      "Static_MAC_Binding",
      `ip=${vmIp}`,
    );
    expect(binding.split("\n").filter(Boolean)).toEqual(isAway ? [`rtos-${at}`, vmMac] : []);
    // A second time there is nothing to do.
    expect(await moved([vm])).toMatchObject({ transactions: 0 });
  });

  it.each(stages)("$about: packets", async ({ vm, at, port }) => {
    await moved([vm]);
    const isAway = at !== "n1";
    if (isAway) await central.learn("ovn_cluster_router", `rtos-${at}`, vmIp, vmMac);
    for (const [node, ip] of Object.entries(pods) as [keyof typeof pods, string][]) {
      const [mac, gateway] = [podMac(node), pods[node].replace(/\.9$/, ".1")];
      const from = { port: `pod-${node}`, mac, ip };
      // A pod of the VM's own subnet asks for it on the link, any other asks for its router.
      const asked = node === "n1" ? vmIp : gateway;
      const answer = await central.arp(node, from, asked);
      expect(answer).toBe(node === "n1" && !isAway ? vmMac : proxyMac);
      const packet = (to: string, target: string) =>
        `inport=="pod-${node}" && eth.src==${mac} && eth.dst==${to} && ip4.src==${ip} && ip4.dst==${target} && ip.ttl==64 && icmp4.type==8`;
      expect(await central.trace(node, packet(answer!, vmIp))).toEqual(path(answer === vmMac, node, at, port));
    }

    const from = { port, mac: vmMac, ip: vmIp };
    expect(await central.arp(at, from, "169.254.1.1")).toBe(proxyMac);
    // The neighbour of its own subnet: itself where it is on the link, the proxy where it is not.
    expect(await central.arp(at, from, pods.n1)).toBe(isAway ? proxyMac : podMac("n1"));
    const packet = (target: string) =>
      `inport=="${port}" && eth.src==${vmMac} && eth.dst==${proxyMac} && ip4.src==${vmIp} && ip4.dst==${target} && ip.ttl==64 && icmp4.type==8`;
    for (const [node, ip] of Object.entries(pods)) {
      if (!isAway && node === at) continue; // on the link
      expect(await central.trace(at, packet(ip))).toEqual(path(false, at, node, `pod-${node}`));
    }
    expect(await central.trace(at, packet("8.8.8.8"))).toEqual(pathOut(at));
  });

  it("home is removed while the VM is away: it still leaves by the node where it is", async () => {
    const vm = vmAt(["vl-b@n2"], "vl-b@n2", { homeNode: undefined });
    const without = zoneOf({ names: ["n2", "n3"], features: zone.features });
    await writer.northbound.apply(desiredOf(without, [vm], all), signal());
    await writer.northbound.barrier("sb", signal());
    expect(await central.nbctl("ls-list")).not.toContain("(n1)");
    const packet = `inport=="t_vl-b" && eth.src==${vmMac} && eth.dst==${proxyMac} && ip4.src==${vmIp} && ip4.dst==8.8.8.8 && ip.ttl==64 && icmp4.type==8`;
    expect(await central.trace("n2", packet)).toEqual(pathOut("n2"));
    expect(await moved([vm])).toMatchObject({ transactions: 1 });
  });

  it("the VM is deleted: nothing of it is left, and pods of others are as they were", async () => {
    await moved([]);
    expect([await routes(), await policies(), await dhcp()]).toEqual([[], [], []]);
    expect(await uuids("Static_MAC_Binding")).toEqual([]);
    expect(await uuids("Logical_Switch_Port", "external_ids:k8s.ovn.org/vm=vm1")).toEqual([]);
    expect(await addresses("pod-n2")).toBe(`${podMac("n2")} ${pods.n2}`);
  });
});
