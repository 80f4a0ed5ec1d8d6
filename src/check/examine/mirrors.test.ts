// What check finds about the addresses of slices: mirrors, reservations and running pods against each other.
import { describe, expect, it, test } from "vitest";

import type { Pod } from "../../cluster/resources.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { heldOf } from "../../pools/leaks/testing/values.ts";
import { PoolIndex } from "../../pools/membership.ts";
import { networksOf } from "../../pools/networks.ts";
import type { PoolHold } from "../../pools/pool-hold.ts";
import { entry, sliceObject, slicedState } from "../../slices/testing/objects.ts";
import type { SliceObjects } from "../slices/snapshot.ts";
import { nowMs, snapshotOf as slicesOf } from "../slices/testing/snapshot.ts";
import type { Snapshot } from "../snapshot.ts";
import { answerLines, parseAsked, whoHolds } from "../who.ts";
import { examineMirrors } from "./mirrors.ts";
import { examinePods } from "./pods.ts";

function podOf(name: string, address = "", parts: { uid?: string; phase?: string; node?: string } = {}): Pod {
  const { uid = `uid-of-${name}`, phase = "Running", node = "n1" } = parts;
  const status = [{ name: "shop/blue", interface: "net1", ips: [address] }];
  return {
    metadata: {
      namespace: "shop",
      name,
      uid,
      ...(address !== "" && { annotations: { "k8s.v1.cni.cncf.io/network-status": JSON.stringify(status) } }),
    },
    spec: { nodeName: node },
    status: { phase },
  };
}

const definition = (ipam: object = { node_slice_size: "/24" }) => ({
  metadata: { namespace: "shop", name: "blue" },
  spec: {
    config: JSON.stringify({
      cniVersion: "1.0.0",
      name: "blue",
      type: "bridge",
      ipam: { type: "holdfast", range: "10.0.0.0/16", network_name: "blue", ...ipam },
    }),
  },
});

interface Scene {
  readonly slices?: SliceObjects["slices"];
  readonly state?: SliceObjects["state"];
  readonly held?: readonly PoolHold[];
  readonly pods?: readonly Pod[];
  readonly ipam?: object;
}

function sceneOf({ slices, state, held = [], pods = [], ipam }: Scene): Snapshot {
  return {
    systemNamespace: "kube-system",
    nowMs,
    state: undefined,
    held,
    pools: [],
    index: new PoolIndex([]),
    pods: new Map(pods.map((pod) => [`shop/${pod.metadata.name}`, pod])),
    nodes: [],
    statefulSets: new Map(),
    claims: new Map(),
    networks: networksOf([definition(ipam)], "kube-system"),
    slices: slicesOf({ ...(slices && { slices }), ...(state && { state }) }),
    unreadable: [],
  };
}

const told = (scene: Scene) =>
  [...examinePods(sceneOf(scene)), ...examineMirrors(sceneOf(scene))].map(
    ({ code, severity }) => `${severity} ${code}`,
  );

const blue = (address: string, name: string) =>
  heldOf({ address, domain: "network:blue", owner: { name, uid: `uid-of-${name}` } });
const web = { "5": entry("web", "uid-of-web") };
const shared = {};

type Story = readonly [string, Scene, readonly string[]];
const stories: readonly Story[] = [
  [
    "a pod whose node's mirror has its address",
    { slices: [sliceObject({ entries: web })], pods: [podOf("web", "10.0.0.5")] },
    [],
  ],
  [
    "a pod whose address was moved to the reservations when its slice drained",
    { held: [blue("10.0.9.5", "web")], pods: [podOf("web", "10.0.9.5")] },
    [],
  ],
  [
    "an address that is being moved: in both, for the same pod",
    {
      slices: [sliceObject({ entries: web, grant: { phase: "draining" } })],
      held: [blue("10.0.0.5", "web")],
      pods: [podOf("web", "10.0.0.5")],
    },
    [],
  ],
  ["a pod whose address no mirror has", { pods: [podOf("web", "10.0.0.5")] }, ["error not-held"]],
  ["the same of a pod that has ended", { pods: [podOf("web", "10.0.0.5", { phase: "Succeeded" })] }, []],
  [
    "a definition without node_slice_size, whose range is sliced: served from the slices",
    { ipam: shared, slices: [sliceObject({ entries: web })], pods: [podOf("web", "10.0.0.5")] },
    [],
  ],
  ["the same, and no mirror has it", { ipam: shared, pods: [podOf("web", "10.0.0.5")] }, ["error not-held"]],
  [
    "an address of the part that floats is held by a reservation, as of any shared pool",
    {
      ipam: shared,
      state: slicedState({ floating: parsePrefix("10.0.240.0/20") }),
      held: [blue("10.0.240.7", "web")],
      pods: [podOf("web", "10.0.240.7")],
    },
    [],
  ],
  [
    "shared again: the slice is sealed, its address moved",
    {
      ipam: shared,
      slices: [],
      state: slicedState({ phase: "opening", blocks: [parsePrefix("10.0.7.0/24")] }),
      held: [blue("10.0.0.5", "web")],
      pods: [podOf("web", "10.0.0.5")],
    },
    [],
  ],
  [
    "an address that one pod uses and another's node holds",
    {
      slices: [sliceObject({ entries: { "5": entry("db", "uid-of-db") } })],
      pods: [podOf("web", "10.0.0.5"), podOf("db")],
    },
    ["error held-by-another"],
  ],
  [
    "an address in two slices",
    {
      slices: [sliceObject({ entries: web }), sliceObject({ node: "n2", entries: { "5": entry("db", "uid-of-db") } })],
      pods: [podOf("web"), podOf("db")],
    },
    ["error two-owners"],
  ],
  [
    "the same address in two networks",
    {
      slices: [
        sliceObject({ entries: web }),
        sliceObject({ network: "red", pool: "red", entries: { "5": entry("db", "uid-of-db") } }),
      ],
      pods: [podOf("web"), podOf("db")],
    },
    [],
  ],
  [
    "an address that a slice and a reservation have, for two",
    { slices: [sliceObject({ entries: web })], held: [blue("10.0.0.5", "db")], pods: [podOf("web"), podOf("db")] },
    ["error two-owners"],
  ],
  [
    "a reservation inside a slice that the grant does not list",
    { held: [blue("10.0.0.9", "db")] },
    ["error not-taken"],
  ],
  [
    "one that it lists",
    { slices: [sliceObject({ grant: { taken: ["10.0.0.1", "10.0.0.8-10.0.0.11"] } })], held: [blue("10.0.0.9", "db")] },
    [],
  ],
  [
    "one in a piece that was lent, and that nobody has",
    { slices: [sliceObject({ grant: { without: ["10.0.0.0/28"] } })], held: [blue("10.0.0.9", "db")] },
    [],
  ],
  [
    "one in a slice that hands nothing out",
    { slices: [sliceObject({ grant: { phase: "returning" } })], held: [blue("10.0.0.9", "db")] },
    [],
  ],
  ["one of another network", { held: [heldOf({ address: "10.0.0.9", domain: "network:red" })] }, []],
  [
    "one that only rests",
    { held: [{ ...blue("10.0.0.9", "db"), cooling: { untilMs: nowMs, lastOwner: "x" as never } }] },
    [],
  ],
  [
    "a pod that has the network's gateway",
    {
      ipam: { node_slice_size: "/24", gateway: "10.0.0.5" },
      slices: [sliceObject({ entries: web })],
      pods: [podOf("web")],
    },
    ["error gateway-held"],
  ],
  ["an entry whose pod is gone", { slices: [sliceObject({ entries: web })] }, ["info entry-without-pod"]],
  [
    "an entry whose pod was made anew",
    { slices: [sliceObject({ entries: web })], pods: [podOf("web", "", { uid: "another" })] },
    ["info entry-without-pod"],
  ],
  [
    "an entry of a kubelet's own pod, which the API may not know",
    { slices: [sliceObject({ entries: { "5": entry("web", "0a1b2c3d4e5f60718293a4b5c6d7e8f9") } })] },
    [],
  ],
];

describe("check of what slices hold", () => {
  test.each(stories)("%s", (_, scene, codes) => expect(told(scene)).toEqual(codes));

  it("each finding names what it is about and what to do, and none is repaired from outside", () => {
    const findings = stories.flatMap(([, scene]) => examineMirrors(sceneOf(scene)));
    expect(new Set(findings.map(({ code }) => code)).size).toBe(6);
    for (const { message, remedy, objects, repair } of findings) {
      expect(message).toMatch(/^(\d|pod shop\/).*\.$/);
      expect(remedy).toMatch(/[.?]$/);
      expect(objects[0]).toMatch(/^(IPPool|Pod|OverlappingRangeIPReservation) /);
      expect(repair).toBeUndefined();
    }
  });
});

describe("who holds an address of a slice", () => {
  const scene = sceneOf({ slices: [sliceObject({ entries: web })] });

  it("is found by the address and by the pod, with node and slice", () => {
    const [answer] = whoHolds(scene, parseAsked("10.0.0.5"));
    expect(whoHolds(scene, parseAsked("shop/web"))).toEqual([answer]);
    expect(answerLines(answer!)).toEqual([
      "10.0.0.5 of the sliced range kube-system/blue: pod shop/web (net1)",
      "  object   IPPool kube-system/blue-n1-10.0.0.0-24",
      "  pod UID  uid-of-web",
      "  node     n1",
      "  slice    10.0.0.0/24",
      "  pool     kube-system/blue",
    ]);
    expect(whoHolds(scene, parseAsked("10.0.0.6"))).toEqual([]);
  });
});
