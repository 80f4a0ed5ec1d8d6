// An attachment under failures: at whatever step it ends, nothing of it is left, or it is on record and its address
// stays.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { parseIpamConfig } from "../../cni/config/ipam-config.ts";
import { parseNetwork } from "../../cni/config/network.ts";
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { realClock } from "../../kube/clock.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { silent } from "../../log/log.ts";
import { parseCidr } from "../../net/prefix.ts";
import type { LoadedConfig } from "../request/configurations.ts";
import { Attacher, StillAttached } from "./attacher.ts";
import { AttachmentFile } from "./attachment-file.ts";
import type { Cables } from "./cable.ts";
import type { LocalSwitch } from "./local-switch.ts";

const args = { podName: "a", podNamespace: "t", podUid: "u1", ips: [], gateways: [], warnings: [] };
const invocation: AttachmentInvocation = {
  command: "ADD",
  containerId: "c1",
  interfaceName: "eth0",
  netns: "/run/netns/x",
  args,
};
const text = JSON.stringify({ cniVersion: "1.0.0", name: "main", type: "holdfast-ovn", subnets: "10.244.0.0/16/24" });
const network = parseNetwork(text);
const loaded: LoadedConfig = { ...parseIpamConfig(network), network, persistence: network.persistence };
const pod = {
  namespace: "t",
  name: "a",
  uid: "u1",
  annotations: {},
  isMirror: false,
  object: { apiVersion: "v1", kind: "Pod", metadata: {} },
};
const result = { interfaces: [], ips: [{ address: parseCidr("10.244.0.5/24") }], routes: [], dns: {} };
const signal = new AbortController().signal;

/** What there is on the node and in OVN; `broken` fails. */
class PlayedNode {
  readonly there = new Set<string>();
  readonly broken = new Set<string>();

  do(step: string, work: () => void): Promise<void> {
    if (this.broken.has(step)) return Promise.reject(new Error(`${step} is broken`));
    work();
    return Promise.resolve();
  }

  readonly ports = {
    ensure: ({ name }: { name: string }) => this.do("ensure", () => this.there.add(`port ${name}`)),
    remove: ({ name }: { name: string }) => this.do("remove port", () => this.there.delete(`port ${name}`)),
  };
  readonly cables = {
    make: (_netns: string, link: string) => this.do("make", () => this.there.add(`cable ${link}`)),
    remove: (link: string) => this.do("remove cable", () => this.there.delete(`cable ${link}`)),
    has: async () => true,
    addresses: async () => ["10.244.0.5"],
  } satisfies Cables;
  readonly local = {
    chassis: "n1",
    put: ({ link }: { link: string }) => this.do("plug", () => this.there.add(`plug ${link}`)),
    remove: (link: string) => this.do("unplug", () => this.there.delete(`plug ${link}`)),
    installed: () => this.do("install", () => {}),
    find: () => undefined,
  } as unknown as LocalSwitch;
  readonly client = {
    get: async () => ({ metadata: { annotations: {} } }),
    patch: () => this.do("annotate", () => {}),
  } as unknown as KubeClient;
}

function attacherOf({ ports, cables, local, client }: PlayedNode, on: AttachmentFile): Attacher {
  const around = { clock: realClock, log: silent, node: "n1", mtu: 1400 };
  return new Attacher({ ports, cables, local, client, file: on, ...around });
}

let folder: string;
let file: AttachmentFile;
let node: PlayedNode;
let attacher: Attacher;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-attach-"));
  file = await AttachmentFile.open(folder);
  node = new PlayedNode();
  attacher = attacherOf(node, file);
});
afterEach(async () => {
  await file.close();
  rmSync(folder, { recursive: true });
});

const attach = () => attacher.attach({ invocation, loaded, text, pod, result, signal });
const steps = ["annotate", "ensure", "make", "plug", "install"];

describe("an ADD", () => {
  it("makes port, cable and plug, once however often it comes", async () => {
    await attach();
    const first = [...node.there].sort();
    expect(first.map((each) => each.split(" ")[0])).toEqual(["cable", "plug", "port"]);
    await attach();
    expect([...node.there].sort()).toEqual(first);
  });

  it.each(steps)("that fails at %s leaves nothing", async (step) => {
    node.broken.add(step);
    await expect(attach()).rejects.toThrow(`${step} is broken`);
    await expect(attach()).rejects.not.toBeInstanceOf(StillAttached);
    expect([...node.there]).toEqual([]);
    expect(file.all()).toEqual([]);
  });

  it.each(["remove port", "remove cable", "unplug"])(
    "whose undoing fails at %s says so, and is on record",
    async (broken) => {
      node.broken.add("install");
      await attach().catch(() => {});
      node.broken.add(broken);
      await expect(attach()).rejects.toBeInstanceOf(StillAttached);
      expect(file.all()).toMatchObject([{ port: "t_a", isGoing: true }]);
      node.broken.clear();
      expect(await attacher.detach(invocation, signal)).toBe(true);
      expect([...node.there]).toEqual([]);
    },
  );
});

describe("a DEL", () => {
  it.each(["remove port", "remove cable", "unplug"])(
    "that fails at %s keeps the address until it is done",
    async (broken) => {
      await attach();
      node.broken.add(broken);
      expect(await attacher.detach(invocation, signal)).toBe(false);
      expect(file.get(invocation)).toMatchObject({ isGoing: true });
      node.broken.clear();
      expect(await attacher.detach(invocation, signal)).toBe(true);
      expect([[...node.there], file.all()]).toEqual([[], []]);
    },
  );

  it("of a sandbox that the pod's next one has replaced leaves the port to that", async () => {
    await attach();
    const young = { ...invocation, containerId: "c2" };
    await attacher.attach({ invocation: young, loaded, text, pod, result, signal });
    expect(await attacher.detach(invocation, signal)).toBe(true);
    expect([...node.there].filter((each) => each.startsWith("port"))).toEqual(["port t_a"]);
    expect(await attacher.detach(young, signal)).toBe(true);
    expect([...node.there]).toEqual([]);
  });

  it("of what was never there is done", async () => {
    expect(await attacher.detach(invocation, signal)).toBe(true);
  });

  it("finds what an earlier process has made", async () => {
    await attach();
    await file.close();
    file = await AttachmentFile.open(folder);
    const next = attacherOf(node, file);
    expect(next.has(invocation)).toBe(true);
    expect(await next.detach(invocation, signal)).toBe(true);
    expect([...node.there]).toEqual([]);
  });

  it("leaves a VM's port to who writes it", async () => {
    await attacher.attach({ invocation, loaded, text, pod, result, vm: { mac: undefined, hasBridge: true }, signal });
    node.there.add("port t_a");
    expect(await attacher.detach(invocation, signal)).toBe(true);
    expect([...node.there]).toEqual(["port t_a"]);
  });
});
