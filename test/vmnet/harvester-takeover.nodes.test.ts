// From Harvester's controller to ours, and back, with Harvester's own programs on real nodes: docs/managed-dhcp.md,
// "From Harvester's controller", step by step. VMs are played by their objects; their guests are pods whose DHCP
// clients run from the first lease on, and whose record shows that none of them ever lost it. One story, in order.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";

import { buildImage } from "../../tools/image/build.ts";
import { ensureShim } from "../../tools/shim/ensure.ts";
import { kubevirtCrds } from "../claims/kubevirt/crds.ts";
import type { Cluster } from "../lab/cluster.ts";
import { run } from "../lab/command.ts";
import { holdfastCommand } from "../lab/holdfast/launch.ts";
import { isReady, type ObservedPod } from "../lab/pods.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { Guest } from "./harvester-guest.ts";
import { harvesterNamespace, HarvesterPeer, whyNoHarvester } from "./harvester-peer.ts";

const deploy = (...path: string[]) => join(import.meta.dirname, "..", "..", "deploy", ...path);
const group = "/apis/network.harvesterhci.io/v1alpha1/namespaces/default";
const server = "10.80.0.2";
const waiting = { everyMs: 500, timeoutMs: 240_000 };
/** On two idle cores a step takes at most a minute and a half, which is what a client waits before it rebinds. */
const storyMs = 600_000;

const reason = whyNoHarvester();
describe.skipIf(reason !== undefined)(`from Harvester's controller to ours${reason ? ` (${reason})` : ""}`, () => {
  let folder: string;
  let lab: Cluster;
  let harvester: HarvesterPeer;
  const guests: Guest[] = [];
  /** VM -> its address, from its first lease to the end. */
  const addresses = new Map<string, string>();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-harvester-"));
    const log = console.error;
    const apiserverArgs = ["--enable-aggregator-routing=true"];
    lab = await cluster({ nodes: 2, log, definitions: kubevirtCrds, apiserverArgs });
    const native = (await ensureShim({ native: true, log })).path;
    const fallback = (await ensureShim({ native: false, log })).path;
    const archive = join(folder, "image.tar");
    writeFileSync(archive, (await buildImage({ shims: { native, fallback } })).archive);
    for (const node of lab.nodes) {
      await node.exec(["ctr", "--namespace=k8s.io", "images", "import", archive]);
      await lab.kubectl(["label", "node", node.name, "network.harvesterhci.io/provider=true"]);
    }
    harvester = new HarvesterPeer(lab);
    await harvester.install(folder);
  }, coldStartTimeoutMs);
  afterAll(async () => {
    await lab?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const step = (what: string, tell: () => Promise<void>) =>
    test(what, { timeout: storyMs }, async () => {
      onTestFailed(async () => console.error(await explain()));
      await tell();
    });

  async function explain(): Promise<string> {
    const ours = ["logs", "-n", "kube-system", "--tail=40", "--prefix", "-l"];
    const events = ["get", "events", "-A", "--sort-by=.lastTimestamp"];
    const out = [
      await lab.kubectl(["get", "ippools.network.harvesterhci.io,vmnetcfg", "-A", "-o", "yaml"]),
      await lab.kubectl(["get", "holds", "-A"]).catch(String),
      await lab.kubectl(["get", "pods", "-A", "-o", "wide"]),
      await lab.kubectl(events).then((text) => text.split("\n").slice(-60).join("\n")),
      await lab.kubectl([...ours, "app.kubernetes.io/name=holdfast-controller"]).catch(String),
      await lab.kubectl([...ours, "network.harvesterhci.io/vm-dhcp-controller=agent"]).catch(String),
      await harvester.words(),
    ];
    for (const guest of guests) out.push(guest.name, ...(await guest.events()), ...(await guest.log()));
    return out.join("\n");
  }

  const holdfast = (...args: string[]) => run(holdfastCommand(...args, `--kubeconfig=${lab.kubeconfig}`));

  interface Config {
    readonly metadata: { readonly name: string };
    readonly status?: {
      readonly networkConfigs?: readonly { readonly allocatedIPAddress?: string; readonly macAddress: string }[];
    };
  }
  interface Pool {
    readonly metadata: object;
    readonly spec: object;
    readonly status: {
      readonly agentPodRef?: { readonly namespace: string };
      readonly ipv4: { readonly allocated: Readonly<Record<string, string>>; readonly used: number };
      readonly conditions: readonly { readonly type: string; readonly status: string }[];
    };
  }
  const pool = () => lab.rest.get<Pool>(`${group}/ippools/pool-80`);
  const configs = async () => (await lab.rest.get<{ items: Config[] }>(`${group}/virtualmachinenetworkconfigs`)).items;
  /** `VM MAC ADDRESS` of every VM, as its network config shows it. */
  const shown = async () =>
    (await configs())
      .map(({ metadata: { name }, status }) => [name, status?.networkConfigs?.[0]] as const)
      .map(([name, nic]) => `${name} ${nic?.macAddress} ${nic?.allocatedIPAddress}`)
      .toSorted();
  const expected = () => guests.map(({ name, mac }) => `${name} ${mac} ${addresses.get(name)}`).toSorted();
  const said = async (type: string) => (await pool()).status.conditions.find((each) => each.type === type)?.status;

  async function virtualMachine(name: string, nic: object, annotations: object = {}): Promise<void> {
    const interfaces = [{ name: "nic", bridge: {}, ...nic }];
    const networks = [{ name: "nic", multus: { networkName: "default/net" } }];
    await lab.rest.create("/apis/kubevirt.io/v1/namespaces/default/virtualmachines", {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachine",
      metadata: { name, annotations },
      spec: { template: { spec: { domain: { devices: { interfaces } }, networks } } },
    });
  }

  /** A VM with this guest; what its client obtained. */
  async function serve(guest: Guest, ask: () => Promise<void>): Promise<string> {
    guests.push(guest);
    await ask();
    const ip = async () => (await shown()).find((line) => /^(\S+) .* [\d.]+$/.exec(line)?.[1] === guest.name);
    const line = await until(ip, { what: `an address for ${guest.name}`, ...waiting });
    addresses.set(guest.name, line.split(" ")[2]!);
    return guest.obtain();
  }
  const fromServer = ({ name }: Guest) => `${addresses.get(name)} from ${server}`;
  const ourAgents = async () => {
    const selector = encodeURIComponent("network.harvesterhci.io/vm-dhcp-controller=agent");
    const path = `/api/v1/namespaces/kube-system/pods?labelSelector=${selector}`;
    return (await lab.rest.get<{ items: ObservedPod[] }>(path)).items;
  };
  const leased = async () =>
    (await holdfast("leases"))
      .split("\n")
      .map((line) => /^([\d.]+)\s+(\S+)\s+default\/(\S+)\s.*bound/.exec(line))
      .flatMap((match) => (match === null ? [] : [`${match[3]} ${match[2]} ${match[1]}`]))
      .toSorted();

  async function takenOver(): Promise<void> {
    const isOurs = async () => {
      const { status } = await pool();
      return status.agentPodRef?.namespace === "kube-system" && (await said("AgentReady")) === "True";
    };
    await until(isOurs, { what: "agents of ours", ...waiting });
    await until(async () => (await harvester.agents()).length === 0, { what: "Harvester's agent to go", ...waiting });
    expect(await shown()).toEqual(expected());
    expect(await leased()).toEqual(expected());
  }

  const addGuest = async (name: string, node: 0 | 1) => Guest.begin(lab, name, lab.nodes[node]!.name);

  step("Harvester allocates, and its agent serves three guests", async () => {
    const config = { cniVersion: "1.0.0", name: "net", type: "macvlan", master: "eth0", mode: "bridge" };
    await lab.rest.create("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions", {
      apiVersion: "k8s.cni.cncf.io/v1",
      kind: "NetworkAttachmentDefinition",
      metadata: { name: "net", labels: { "network.harvesterhci.io/clusternetwork": "provider" } },
      spec: { config: JSON.stringify(config) },
    });
    const range = { start: "10.80.0.10", end: "10.80.0.19", exclude: ["10.80.0.15"] };
    const ipv4Config = { cidr: "10.80.0.0/24", serverIP: server, router: "10.80.0.1", pool: range, leaseTime: 600 };
    await lab.rest.create(`${group}/ippools`, {
      apiVersion: "network.harvesterhci.io/v1alpha1",
      kind: "IPPool",
      metadata: { name: "pool-80" },
      spec: { networkName: "default/net", ipv4Config },
    });
    await until(async () => (await said("AgentReady")) === "True", { what: "Harvester's agent", ...waiting });
    // First: Harvester chooses at random, and would give this address to another.
    const hand = await addGuest("hand", 1);
    const byHand = async () => {
      await lab.rest.create(`${group}/virtualmachinenetworkconfigs`, {
        apiVersion: "network.harvesterhci.io/v1alpha1",
        kind: "VirtualMachineNetworkConfig",
        metadata: { name: "hand" },
        spec: {
          vmName: "hand",
          networkConfigs: [{ networkName: "default/net", macAddress: hand.mac, ipAddress: "10.80.0.17" }],
        },
      });
    };
    expect(await serve(hand, byHand)).toBe(`10.80.0.17 from ${server}`);
    const web = await addGuest("web", 0);
    const macs = JSON.stringify({ nic: web.mac });
    expect(await serve(web, () => virtualMachine("web", {}, { "harvesterhci.io/mac-address": macs }))).toBe(
      fromServer(web),
    );
    const db = await addGuest("db", 1);
    expect(await serve(db, () => virtualMachine("db", { macAddress: db.mac }))).toBe(fromServer(db));
    expect(new Set(addresses.values()).size).toBe(3);
    expect((await harvester.agents()).map(isReady)).toEqual([true]);
  });

  step("step 2: Holdfast is installed, and touches nothing of Harvester's", async () => {
    const settled = async () => {
      const { status, ...rest } = await pool();
      return status.ipv4.used === 3 && JSON.stringify([rest, status.ipv4, await configs()]);
    };
    const before = await until(settled, { what: "Harvester to settle", ...waiting });
    await lab.kubectl(["apply", "-f", deploy("holdfast.yaml")]);
    await lab.kubectl(["rollout", "status", "deployment/holdfast-controller", "-n", "kube-system", "--timeout=200s"]);
    expect(await until(settled, { what: "the same", ...waiting })).toBe(before);
    expect(await ourAgents()).toEqual([]);
  });

  step("step 3: without its controller and webhook, Harvester's agent goes on", async () => {
    await harvester.stop();
    const touch = () => lab.kubectl(["annotate", "ippools.network.harvesterhci.io", "pool-80", "touched=yes"]);
    await expect(touch()).rejects.toThrow(/failed calling webhook/);
    await harvester.removeWebhooks();
    await touch();
    for (const guest of guests) expect(await guest.renew()).toBe(fromServer(guest));
  });

  step("steps 4 and 5: every address has its hold, our agents come, Harvester's goes", async () => {
    await lab.kubectl(["apply", "-f", deploy("managed-dhcp/rights.yaml"), "-f", deploy("managed-dhcp/takeover.yaml")]);
    await takenOver();
    const { status } = await pool();
    expect(status.ipv4.allocated).toEqual({
      ...Object.fromEntries(guests.map(({ name, mac }) => [addresses.get(name), mac])),
      "10.80.0.15": "EXCLUDED",
    });
    expect(await holdfast("check")).toContain("fit together");
  });

  step("guests renew by unicast and rebind by broadcast with our agents, and never lost their lease", async () => {
    const leaseTime = (seconds: number) =>
      lab.rest.patch(`${group}/ippools/pool-80`, { spec: { ipv4Config: { leaseTime: seconds } } });
    // The shortest that udhcpc takes: it rebinds a minute and a half later.
    await leaseTime(125);
    for (const guest of guests) expect(await guest.renew()).toBe(fromServer(guest));
    const rebound = await Promise.all(guests.map((guest) => guest.rebind(server)));
    expect(rebound).toEqual(guests.map(fromServer));
    await leaseTime(600);
    for (const guest of guests) expect(await guest.renew()).toBe(fromServer(guest));
  });

  step("new VMs get what nobody has; step 6", async () => {
    for (const [name, node] of [
      ["new", 0],
      ["newer", 1],
    ] as const) {
      const guest = await addGuest(name, node);
      expect(await serve(guest, () => virtualMachine(name, { macAddress: guest.mac }))).toBe(fromServer(guest));
    }
    expect(new Set(addresses.values()).size).toBe(5);
    await lab.kubectl(["-n", harvesterNamespace, "delete", "role,rolebinding", "holdfast-takeover"]);
  });

  step("back again: Harvester's controller reads the same objects, and its agent serves the same leases", async () => {
    await lab.kubectl(["delete", "clusterrolebinding", "holdfast-managed-dhcp"]);
    await lab.kubectl(["-n", "kube-system", "delete", "rolebinding", "holdfast-managed-dhcp"]);
    // One that had the rights goes on with what it has seen, and would make holds again from what Harvester records.
    const controller = ["deployment/holdfast-controller", "-n", "kube-system"];
    await lab.kubectl(["rollout", "restart", ...controller]);
    await lab.kubectl(["rollout", "status", ...controller, "--timeout=200s"]);
    await lab.kubectl(["annotate", "ippools.network.harvesterhci.io", "--all", "-A", "holdfast.io/adopted-"]);
    const without = JSON.stringify([{ op: "remove", path: "/status/agentPodRef" }]);
    const patch = ["--subresource=status", "--type=json", `--patch=${without}`];
    await lab.kubectl(["patch", "ippools.network.harvesterhci.io", "pool-80", ...patch]);
    await harvester.start();
    const isServed = async () => (await harvester.agents()).some(isReady) && (await said("AgentReady")) === "True";
    await until(isServed, { what: "Harvester's agent", ...waiting });
    const labelled = ["-l", "network.harvesterhci.io/vm-dhcp-controller=agent"];
    await lab.kubectl(["-n", "kube-system", "delete", "deployment,poddisruptionbudget", ...labelled]);
    await lab.kubectl(["-n", "kube-system", "delete", "holds", "-l", "holdfast.io/vm-network"]);
    await lab.kubectl(["delete", "-f", deploy("managed-dhcp/rights.yaml"), "--ignore-not-found"]);
    await until(async () => (await ourAgents()).length === 0, { what: "our agents to go", ...waiting });
    expect((await lab.kubectl(["get", "holds", "-A", "-o", "name"])).trim()).toBe("");
    await until(async () => String(await shown()) === String(expected()), { what: "the same addresses", ...waiting });
    for (const guest of guests) expect(await guest.renew()).toBe(fromServer(guest));
    const last = await addGuest("last", 0);
    expect(await serve(last, () => virtualMachine("last", { macAddress: last.mac }))).toBe(fromServer(last));
    expect(new Set(addresses.values()).size).toBe(6);
  });

  step("and forth once more: what Harvester gave meanwhile is taken over, too", async () => {
    await harvester.stop();
    await harvester.removeWebhooks();
    await lab.kubectl(["apply", "-f", deploy("managed-dhcp/rights.yaml"), "-f", deploy("managed-dhcp/takeover.yaml")]);
    await takenOver();
    for (const guest of guests) expect(await guest.renew()).toBe(fromServer(guest));
    // From the first lease on, each client has been told nothing but its own address, and never lost it.
    for (const guest of guests) {
      const own = `${addresses.get(guest.name)} ${server}`;
      const events = (await guest.events()).map((line) => line.trim());
      expect(events.slice(0, 2), guest.name).toEqual(["deconfig", `bound ${own}`]);
      expect(new Set(events.slice(2)), guest.name).toEqual(new Set([`renew ${own}`]));
    }
  });
});
