// What nobody asks for is taken away only when two looks agree that nobody needs it any more.
import { beforeEach, describe, expect, it } from "vitest";

import { podNetworksAnnotation } from "../../cluster/pod-network.ts";
import type { Pod } from "../../cluster/resources.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { realClock } from "../../kube/clock.ts";
import { silent } from "../../log/log.ts";
import { parseAddress } from "../../net/address.ts";
import { parseMac } from "../../net/mac.ts";
import type { CniRequest } from "../context.ts";
import type { OvnRecord } from "./attachment-file.ts";
import { OvnUpkeep } from "./upkeep.ts";

const record: OvnRecord = {
  containerId: "c1",
  interfaceName: "eth0",
  netns: "/run/netns/x",
  link: "hf1",
  port: "t_a",
  switch: "n1",
  pod: { namespace: "t", name: "a", uid: "u1" },
  network: "main",
  definition: "",
  mac: parseMac("0a:58:0a:f4:00:05"),
  addresses: ["10.244.0.5"],
  isUnaddressed: false,
  isVms: false,
  config: "{}",
};
const pod = (name: string, more: Partial<Pod> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "t", name, uid: "u1" },
  ...more,
});
const launcher = (address: string, phase: string): Pod => {
  const text = JSON.stringify({ default: { ip_addresses: [`${address}/24`], mac_address: "0a:58:0a:f4:00:05" } });
  return pod("vl", {
    metadata: { namespace: "t", name: "vl", annotations: { [podNetworksAnnotation]: text } },
    status: { phase },
  });
};
const hold = (containerId: string): Hold => ({
  domain: "slice:kube-system/p",
  address: parseAddress("10.244.0.5"),
  owner: { kind: "pod", uid: "u1", namespace: "t", name: "a", interface: "eth0", containerId },
  version: "7",
  note: { why: "", keeper: "virtualmachineinstance/vm1" },
});

const signal = new AbortController().signal;
let records: OvnRecord[];
let here: Map<string, Pod>;
let holds: Hold[];
let launchers: Pod[];
let isThere: boolean;
let released: string[];
let upkeep: OvnUpkeep;
beforeEach(() => {
  [records, here, holds, launchers, isThere, released] = [[], new Map(), [], [], true, []];
  upkeep = new OvnUpkeep({
    clock: realClock,
    log: silent,
    cooldownMs: 0,
    client: { listAll: async <T>() => launchers as unknown as T[] },
    file: { all: () => records, get: ({ containerId }) => records.find((each) => each.containerId === containerId) },
    pods: { hasSynced: true, cache: { get: (key) => here.get(key) } },
    journal: {
      holds: () => holds.values(),
      release: async ({ address }) => {
        released.push(`${address}`);
        return { outcome: "released" };
      },
    },
    onFreed: () => {},
    identify: async () => (isThere ? "4:1" : undefined),
    release: async ({ invocation }: CniRequest) => void released.push(invocation.containerId),
  });
});
const look = async (times: number) => {
  for (let each = 0; each < times; each++) await upkeep.look(signal);
  return released;
};

describe("an interface without a DEL", () => {
  it("goes when pod and namespace are gone for two looks", async () => {
    [records, isThere] = [[record], false];
    expect(await look(1)).toEqual([]);
    expect(await look(1)).toEqual(["c1"]);
  });

  it.each<[string, () => void]>([
    ["its pod is there", () => here.set("t/a", pod("a"))],
    ["its namespace is there", () => (isThere = true)],
  ])("stays while %s", async (_, arrange) => {
    [records, isThere] = [[record], false];
    arrange();
    expect(await look(3)).toEqual([]);
  });
});

describe("the address of a VM", () => {
  it("goes when no living pod has it for two looks", async () => {
    [holds, launchers] = [[hold("")], [launcher("10.244.0.5", "Succeeded"), launcher("10.244.0.6", "Running")]];
    expect(await look(1)).toEqual([]);
    expect(await look(1)).toEqual(["10.244.0.5"]);
  });

  it.each<[string, () => void]>([
    ["a pod of another node has it", () => (launchers = [launcher("10.244.0.5", "Running")])],
    ["its sandbox is attached", () => ([holds, records] = [[hold("c1")], [record]])],
    ["its pod is being attached", () => [(holds = [hold("c1")]), here.set("t/a", pod("a"))]],
    ["its hold is another by the second look", () => (holds = [{ ...hold(""), version: `${Math.random()}` }])],
  ])("stays while %s", async (what, arrange) => {
    holds = [hold("")];
    for (let each = 0; each < 3; each++) {
      if (each === 0 || what.includes("another by")) arrange();
      await look(1);
    }
    expect(released).toEqual([]);
  });

  it("goes too where an ADD was cut short, and nothing is left of its pod", async () => {
    holds = [hold("c1")];
    expect(await look(2)).toEqual(["10.244.0.5"]);
  });
});
