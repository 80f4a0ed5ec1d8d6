// Holdfast's own CNI plugin on real OVN and Open vSwitch: pods on two nodes speak with each other, what is taken away
// is gone everywhere, a daemon that is killed leaves nothing, and a VM's pod has no address of its own.
import { setTimeout as pause } from "node:timers/promises";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { podNetworksAnnotation, readPodNetwork } from "../../src/cluster/pod-network.ts";
import type { ObjectKey } from "../../src/kube/meta.ts";
import type { VmPlacement } from "../../src/ovn/vm/placement.ts";
import { AttachingCluster, type LabSandbox, podNetwork } from "../lab/ovn/attaching.ts";
import { type OvnLab, ovnLab } from "../lab/ovn/lab.ts";
import { ensureOvn, ovnVersions } from "../lab/ovn/packages.ts";
import { until } from "../lab/wait.ts";
import { volume } from "../volume.ts";

/** Once per machine and version: apt brings 45 MB, and the plugin is built. */
const firstTimeMs = 15 * 60_000;

describe.each(volume(ovnVersions.slice(-1), ovnVersions))("OVN %s", (version) => {
  let lab: OvnLab;
  let cluster: AttachingCluster;
  const open = new Set<LabSandbox>();
  beforeAll(async () => {
    await ensureOvn(version, console.error);
    lab = await ovnLab({ nodes: 2, zones: "one", version });
    cluster = await AttachingCluster.open(lab);
  }, firstTimeMs);
  afterEach(async () => {
    for (const each of open) await cluster.call("DEL", each, podNetwork);
    for (const each of open) await each.namespace.close();
    open.clear();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await lab?.close();
  });

  const made = async (...wishes: Parameters<AttachingCluster["sandbox"]>) => {
    const sandbox = await cluster.sandbox(...wishes);
    open.add(sandbox);
    return sandbox;
  };
  const pings = (from: LabSandbox, address: string) =>
    until(() => from.namespace.run(["ping", "-c", "1", "-W", "2", address]).then(() => true), {
      what: `${address} to answer ${from.name}`,
      timeoutMs: 30_000,
    });
  const bare = (ips: readonly { address: string }[]) => ips.map(({ address }) => address.split("/")[0]!);

  test("pods of two nodes speak with each other, and what is deleted is gone everywhere", async () => {
    const [a, b] = [await made("node1", "a"), await made("node2", "b")];
    const [first, second] = [await cluster.call("ADD", a, podNetwork), await cluster.call("ADD", b, podNetwork)];
    expect([first.status, second.status], `${JSON.stringify(first.json)} ${JSON.stringify(second.json)}`).toEqual([
      0, 0,
    ]);
    expect(first.json).toMatchObject({
      cniVersion: "1.1.0",
      interfaces: [{ name: expect.stringMatching(/^hf/) as string }, { name: "eth0", mtu: 1400 }],
      ips: [
        { address: "10.244.0.3/24", gateway: "10.244.0.1", interface: 1 },
        { address: "fd10:244::3/64", gateway: "fd10:244::1", interface: 1 },
      ],
      routes: [
        { dst: "0.0.0.0/0", gw: "10.244.0.1" },
        { dst: "::/0", gw: "fd10:244::1" },
      ],
    });
    expect(first.json.interfaces[1].mac).toBe("0a:58:0a:f4:00:03");
    for (const address of bare(second.json.ips)) await pings(a, address);
    for (const address of bare(first.json.ips)) await pings(b, address);
    expect(JSON.parse((await cluster.annotation(a, "k8s.ovn.org/pod-networks"))!)).toEqual({
      default: {
        ip_addresses: ["10.244.0.3/24", "fd10:244::3/64"],
        mac_address: "0a:58:0a:f4:00:03",
        gateway_ips: ["10.244.0.1", "fd10:244::1"],
        role: "primary",
      },
    });
    expect(cluster.podPorts()).toEqual(["default_a", "default_b"]);
    const check = await cluster.call("CHECK", a, { ...podNetwork, prevResult: first.json });
    expect(check.json).toBeUndefined();

    // The same request again: the same answer, and nothing twice.
    const again = await cluster.call("ADD", a, podNetwork);
    expect(again.json.ips).toEqual(first.json.ips);
    expect(await cluster.leftOn("node1")).toHaveLength(2);
    await pings(b, "10.244.0.3");

    // A route of another, an address that is gone: CHECK tells.
    await a.namespace.run(["ip", "address", "delete", "10.244.0.3/24", "dev", "eth0"]);
    const changed = await cluster.call("CHECK", a, { ...podNetwork, prevResult: first.json });
    expect(changed.json).toMatchObject({ code: 100, msg: expect.stringContaining("has lost 10.244.0.3") as string });

    for (const each of [a, a, b]) expect((await cluster.call("DEL", each, podNetwork)).status).toBe(0);
    expect(cluster.podPorts()).toEqual([]);
    expect([await cluster.leftOn("node1"), await cluster.leftOn("node2")]).toEqual([[], []]);
    const next = await made("node1", "next");
    expect(bare((await cluster.call("ADD", next, podNetwork)).json.ips)[0]).toMatch(/^10\.244\.0\./);
  });

  test("a sandbox that is lost is replaced: the address stays, and one interface has it", async () => {
    const old = await made("node1", "again");
    const before = await cluster.call("ADD", old, podNetwork);
    await old.namespace.close();
    const young = await cluster.again(old);
    open.add(young);
    const after = await cluster.call("ADD", young, podNetwork);
    expect(after.json.ips).toEqual(before.json.ips);
    // The old one's DEL comes late: it takes nothing of the new one away.
    expect((await cluster.call("DEL", old, podNetwork)).status).toBe(0);
    expect(cluster.podPorts()).toEqual(["default_again"]);
    const peer = await made("node2", "peer");
    expect((await cluster.call("ADD", peer, podNetwork)).status).toBe(0);
    await pings(peer, bare(after.json.ips)[0]!);
    expect(await cluster.leftOn("node1")).toHaveLength(2);
  });

  test("a daemon that is killed during ADD leaves nothing behind the next DEL, and the address is free", async () => {
    const rounds = volume(5, 40);
    for (let round = 0; round < rounds; round++) {
      const sandbox = await made("node2", `killed-${round}`);
      const adding = cluster.call("ADD", sandbox, podNetwork);
      // An ADD takes some 100 ms: the kills are spread over it.
      await Promise.race([adding, pause((round * 250) / rounds)]);
      await cluster.kill("node2");
      await adding;
      await cluster.start("node2");
      if (round % 2 === 1) expect((await cluster.call("ADD", sandbox, podNetwork)).status).toBe(0);
      expect((await cluster.call("DEL", sandbox, podNetwork)).status).toBe(0);
      expect(await cluster.leftOn("node2")).toEqual([]);
      expect(cluster.podPorts()).toEqual([]);
    }
    const next = await made("node2", "after-kills");
    const told = await cluster.call("ADD", next, podNetwork);
    // Nothing that was killed holds an address: the lowest is free again.
    expect(bare(told.json.ips)[0]).toBe(cluster.lowest("node2"));
  });

  test("GC takes away what the runtime does not list", async () => {
    const [kept, lost] = [await made("node1", "kept"), await made("node1", "lost")];
    for (const each of [kept, lost]) expect((await cluster.call("ADD", each, podNetwork)).status).toBe(0);
    const valid = [{ containerID: kept.containerId, ifname: "eth0" }];
    const config = { ...podNetwork, "cni.dev/valid-attachments": valid, "cni.dev/attachments": valid };
    expect((await cluster.call("GC", kept, config)).json).toBeUndefined();
    expect(cluster.podPorts()).toEqual(["default_kept"]);
    expect(await cluster.leftOn("node1")).toHaveLength(2);
  });

  test("a VM whose address moves: its pod has none, its result does, and the address outlives the pod", async () => {
    const wishes = {
      labels: { "kubevirt.io": "virt-launcher" },
      annotations: {
        "kubevirt.io/allow-pod-bridge-network-live-migration": "",
        "kubevirt.io/domain": "vm1",
      },
    };
    const source = await made("node1", "virt-launcher-vm1-a", wishes);
    const adding = cluster.call("ADD", source, podNetwork);
    // The reconciler of live migration, as far as this is about: the pod says its address, and the VM has a port.
    const network = await until(async () => readPodNetwork(await cluster.annotation(source, podNetworksAnnotation)), {
      what: "the pod to say its address",
    });
    const place = (pods: readonly LabSandbox[]): VmPlacement => ({
      namespace: "default",
      name: "vm1",
      mac: network.mac,
      addresses: network.addresses.map(({ address, prefix }) => ({ address, subnet: prefix })),
      homeNode: "node1",
      activeNode: "node1",
      ports: pods.map(({ name, uid, node }) => ({ podName: name, podUid: uid, node, isActive: node === "node1" })),
    });
    const write = (pods: readonly LabSandbox[]) =>
      cluster.writer.write("global", new Map([["default/vm1" as ObjectKey, place(pods)]]), AbortSignal.timeout(30_000));
    await write([source]);
    const told = await adding;
    expect(told.status, JSON.stringify(told.json)).toBe(0);
    expect(bare(told.json.ips)).toEqual(network.addresses.map(({ address }) => `${address}`));
    const inside = await source.namespace.run(["ip", "-json", "address", "show", "dev", "eth0"]);
    const [link] = JSON.parse(inside) as { address: string; addr_info: { scope: string }[] }[];
    expect(link).toMatchObject({ address: network.mac });
    expect(link!.addr_info.filter(({ scope }) => scope === "global")).toEqual([]);
    const checked = { ...podNetwork, prevResult: told.json };
    expect((await cluster.call("CHECK", source, checked)).json).toBeUndefined();

    // Its target is told the same address, and takes none of its node.
    const target = await made("node2", "virt-launcher-vm1-b", {
      labels: { ...wishes.labels, "kubevirt.io/migrationJobUID": "m1" },
      annotations: {
        ...wishes.annotations,
        [podNetworksAnnotation]: (await cluster.annotation(source, podNetworksAnnotation))!,
      },
    });
    const joining = cluster.call("ADD", target, podNetwork);
    await write([source, target]);
    const joined = await joining;
    expect(joined.status, JSON.stringify(joined.json)).toBe(0);
    expect(joined.json.ips).toEqual(told.json.ips);

    // The source ends: the address is the VM's still.
    expect((await cluster.call("DEL", source, podNetwork)).status).toBe(0);
    const other = await made("node1", "other");
    const others = await cluster.call("ADD", other, podNetwork);
    expect(bare(others.json.ips)).not.toContain(bare(told.json.ips)[0]);
    await cluster.call("DEL", target, podNetwork);
    await cluster.writer.write(
      "global",
      new Map([["default/vm1" as ObjectKey, "gone" as const]]),
      AbortSignal.timeout(30_000),
    );
  });

  test("pods of a secondary network speak with each other across nodes", async () => {
    const layer2 = {
      cniVersion: "1.0.0",
      name: "tenantblue",
      type: "ovn-k8s-cni-overlay",
      topology: "layer2",
      subnets: "10.100.200.0/24",
      netAttachDefName: "default/blue",
    };
    await cluster.define("default", "blue", layer2);
    const selected = {
      annotations: { "k8s.v1.cni.cncf.io/networks": '[{"name":"blue","namespace":"default","interface":"eth0"}]' },
    };
    const [a, b] = [await made("node1", "blue-a", selected), await made("node2", "blue-b", selected)];
    const told = [await cluster.call("ADD", a, layer2), await cluster.call("ADD", b, layer2)];
    expect(
      told.map(({ status }) => status),
      JSON.stringify(told.map(({ json }) => json as unknown)),
    ).toEqual([0, 0]);
    await pings(a, bare(told[1]!.json.ips)[0]!);
    expect(cluster.port("default.blue_default_blue-a")).toMatchObject({
      addresses: new Set([`${told[0]!.json.interfaces[1].mac} ${bare(told[0]!.json.ips)[0]}`]),
    });
    for (const each of [a, b]) expect((await cluster.call("DEL", each, layer2)).status).toBe(0);
    expect(cluster.podPorts()).toEqual([]);

    // On a definition that it does not name, and by a network that the node does not have, nothing is attached.
    const c = await made("node1", "blue-c", selected);
    const refused = await cluster.call("ADD", c, { ...layer2, netAttachDefName: "default/green" });
    expect(refused.json).toMatchObject({ code: 7, msg: expect.stringContaining("write default/blue") as string });
    const nowhere = await cluster.call("ADD", c, { ...layer2, topology: "localnet", physicalNetworkName: "other" });
    expect(nowhere.json).toMatchObject({
      code: 101,
      msg: expect.stringContaining("bridge mappings of node node1") as string,
    });
    expect(await cluster.leftOn("node1")).toEqual([]);
  });

  test("a localnet network leaves the node by its bridge", async () => {
    const localnet = {
      cniVersion: "1.0.0",
      name: "outside",
      type: "ovn-k8s-cni-overlay",
      topology: "localnet",
      physicalNetworkName: "physnet",
      subnets: "172.31.0.0/24",
      excludeSubnets: "172.31.0.0/26,172.31.0.254/32",
      netAttachDefName: "default/outside",
    };
    await cluster.define("default", "outside", localnet);
    const selected = {
      annotations: { "k8s.v1.cni.cncf.io/networks": '[{"name":"outside","namespace":"default","interface":"eth0"}]' },
    };
    const pod = await made("node2", "out", selected);
    const told = await cluster.call("ADD", pod, localnet);
    expect(told.status, JSON.stringify(told.json)).toBe(0);
    expect(bare(told.json.ips)).toEqual(["172.31.0.64"]);
    await pings(pod, "172.31.0.254");
    expect((await cluster.call("DEL", pod, localnet)).status).toBe(0);
  });
});
