import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { reservationName } from "../../api/holds/reservation-name.ts";
import { readAllocations } from "../../api/pools/allocations.ts";
import { keyOf, type AnyObject } from "../../kube/meta.ts";
import { parseAddress } from "../../net/address.ts";
import { readRecord } from "../record/record-object.ts";
import { destinations, type Goal } from "./goal.ts";
import { isEmpty, makePlan, type Plan } from "./plan.ts";
import { phasesBack, phasesOf, type Phase } from "./step.ts";
import { type Survey, surveyOf } from "./survey.ts";
import { plainGoal } from "./testing/goal.ts";

const system = "kube-system";
type Entries = Record<string, string>;

function pool(name: string, range: string, entries: Entries, namespace = system): AnyObject {
  const allocations = Object.fromEntries(
    Object.entries(entries).map(([key, podref]) => [key, { id: "x", podref, ifname: "net1" }]),
  );
  return {
    apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
    kind: "IPPool",
    metadata: meta(name, namespace),
    spec: { range, allocations },
  };
}

function reservation(name: string, podref: string, namespace = system): AnyObject {
  return {
    apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
    kind: "OverlappingRangeIPReservation",
    metadata: meta(name, namespace),
    spec: { podref, ifname: "net1" },
  };
}

function nad(key: string, ipam: object, more: object = {}): AnyObject {
  const [namespace, name] = key.split("/");
  const config = JSON.stringify({
    cniVersion: "1.0.0",
    name,
    type: "bridge",
    ...more,
    ipam: { type: "whereabouts", ...ipam },
  });
  return { kind: "NetworkAttachmentDefinition", metadata: { namespace: namespace!, name: name! }, spec: { config } };
}

const meta = (name: string, namespace: string) => ({
  name,
  namespace,
  uid: `uid-${namespace}-${name}`,
  resourceVersion: "1",
});

function survey(objects: readonly AnyObject[]): Survey {
  const of = (kind: string) => objects.filter((each) => each.kind === kind);
  return surveyOf({
    systemNamespace: system,
    pools: of("IPPool"),
    reservations: of("OverlappingRangeIPReservation"),
    holds: of("Hold"),
    definitions: of("NetworkAttachmentDefinition"),
    slices: of("NodeSlicePool"),
  });
}

const goal = (to: Goal["to"], more: Partial<Goal> = {}): Goal => ({ ...plainGoal, to, ...more });

function summary(plan: Plan) {
  return {
    pools: plan.pools.map(({ from, after }) => `${from.map(keyOf).join("+")} -> ${keyOf(after)}`),
    records: plan.records.map(
      ({ before, after }) => `${keyOf(before)} -> ${after === undefined ? "(there)" : keyOf(after)}`,
    ),
    edits: plan.edits.map(
      ({ key, changes }) => `${key}: ${changes.map((change) => `${change.key}=${change.after ?? "-"}`).join(" ")}`,
    ),
    unmatched: plan.unmatched.length,
    conflicts: plan.conflicts.map(({ message }) => message),
  };
}

const lan = nad("blue/lan", { range: "10.1.0.0/24" });

describe("the domain that a pool says", () => {
  const marked = (domain: string): AnyObject => {
    const plain = pool("10.1.0.0-24", "10.1.0.0/24", { "1": "blue/a" });
    return { ...plain, metadata: { ...plain.metadata, annotations: { "holdfast.io/domain": domain } } };
  };
  const apart = nad("blue/lan", { range: "10.1.0.0/24", enable_overlapping_ranges: false });

  it.each([
    ["network:", "network:lan", lan],
    ["pool:kube-system/10.1.0.0-24", "pool:blue/lan-10.1.0.0-24", apart],
    ["network:", "network:lan", apart],
  ])("%s moves with it, and becomes %s", (before, after, definition) => {
    const plan = makePlan(survey([definition, marked(before)]), goal("namespaced"));
    expect(plan.pools[0]?.after.metadata.annotations?.["holdfast.io/domain"]).toBe(after);
  });

  it("decides whose records follow, whatever the definition says of overlaps", () => {
    const objects = [apart, marked("network:"), reservation("10.1.0.1", "blue/a")];
    expect(summary(makePlan(survey(objects), goal("named")))).toMatchObject({
      records: ["kube-system/10.1.0.1 -> kube-system/lan-10.1.0.1"],
      conflicts: [],
    });
  });
});

describe("stories", () => {
  it.each<[about: string, objects: AnyObject[], goal: Goal, wanted: object]>([
    [
      "a network gets its configuration's name",
      [lan, pool("10.1.0.0-24", "10.1.0.0/24", { "1": "blue/a" }), reservation("10.1.0.1", "blue/a")],
      goal("named"),
      {
        pools: ["kube-system/10.1.0.0-24 -> kube-system/lan-10.1.0.0-24"],
        records: ["kube-system/10.1.0.1 -> kube-system/lan-10.1.0.1"],
        edits: ["blue/lan: network_name=lan"],
        unmatched: 0,
        conflicts: [],
      },
    ],
    [
      "a network of OVN has its name already, and its subnets' pools are its own",
      [
        nad("blue/ovn", { range: undefined }, { type: "ovs", topology: "layer2", subnets: "10.1.0.0/24" }),
        pool("ovn-10.1.0.0-24", "10.1.0.0/24", { "1": "blue/a" }),
        reservation("ovn-10.1.0.1", "blue/a"),
      ],
      goal("named"),
      { pools: [], records: [], edits: [], unmatched: 0, conflicts: [] },
    ],
    [
      "the same, to the definition's namespace: the name stays unwritten",
      [
        nad("blue/ovn", {}, { type: "ovs", topology: "layer2", subnets: "10.1.0.0/24" }),
        pool("ovn-10.1.0.0-24", "10.1.0.0/24", {}),
        reservation("ovn-10.1.0.1", "blue/a"),
      ],
      goal("namespaced"),
      {
        pools: ["kube-system/ovn-10.1.0.0-24 -> blue/ovn-10.1.0.0-24"],
        records: ["kube-system/ovn-10.1.0.1 -> blue/ovn-10.1.0.1"],
        edits: ["blue/ovn: pool_namespace=nad"],
      },
    ],
    [
      "namespaced: pool and record go to the definition",
      [lan, pool("10.1.0.0-24", "10.1.0.0/24", {}), reservation("10.1.0.1", "blue/a")],
      goal("namespaced"),
      {
        pools: ["kube-system/10.1.0.0-24 -> blue/lan-10.1.0.0-24"],
        records: ["kube-system/10.1.0.1 -> blue/lan-10.1.0.1"],
        edits: ["blue/lan: network_name=lan pool_namespace=nad"],
      },
    ],
    [
      "the first scheme of the proposal: the pool is named by the network alone",
      [lan, pool("10.1.0.0-24", "10.1.0.0/24", {})],
      goal("namespaced", { naming: "network" }),
      {
        pools: ["kube-system/10.1.0.0-24 -> blue/lan"],
        edits: ["blue/lan: network_name=lan pool_namespace=nad pool_naming=network"],
      },
    ],
    [
      "back from there",
      [
        nad("blue/lan", { range: "10.1.0.0/24", network_name: "lan", pool_namespace: "nad", pool_naming: "network" }),
        pool("lan", "10.1.0.0/24", {}, "blue"),
        reservation("lan-10.1.0.1", "blue/a", "blue"),
      ],
      goal("whereabouts", { names: new Map([["blue/lan", ""]]) }),
      {
        pools: ["blue/lan -> kube-system/10.1.0.0-24"],
        records: ["blue/lan-10.1.0.1 -> kube-system/10.1.0.1"],
        edits: ["blue/lan: network_name=- pool_namespace=- pool_naming=-"],
        conflicts: [],
      },
    ],
    [
      "a pool of an early version is named by the range as it was written, host bits and all",
      [nad("blue/lan", { range: "10.1.0.5/24" }), pool("10.1.0.5-24", "10.1.0.5/24", { "3": "blue/a" })],
      goal("named"),
      { pools: ["kube-system/10.1.0.5-24 -> kube-system/lan-10.1.0.0-24"] },
    ],
    [
      "two definitions that share a pool must agree on a name",
      [lan, nad("red/wan", { range: "10.1.0.0/24" }), pool("10.1.0.0-24", "10.1.0.0/24", {})],
      goal("named"),
      {
        pools: [],
        conflicts: [
          expect.stringContaining("is shared by blue/lan, red/wan"),
          expect.stringContaining("would no longer be kept apart"),
        ],
      },
    ],
    [
      "and with one name they move together",
      [lan, nad("red/wan", { range: "10.1.0.0/24" }), pool("10.1.0.0-24", "10.1.0.0/24", {})],
      goal("named", { names: new Map([["red/wan", "lan"]]) }),
      { pools: ["kube-system/10.1.0.0-24 -> kube-system/lan-10.1.0.0-24"], conflicts: [] },
    ],
    [
      "ranges that overlap in the unnamed network are kept apart today: splitting them is refused",
      [
        lan,
        nad("red/wan", { range: "10.1.0.0/16" }),
        pool("10.1.0.0-24", "10.1.0.0/24", {}),
        pool("10.1.0.0-16", "10.1.0.0/16", {}),
      ],
      goal("named"),
      { conflicts: [expect.stringContaining("overlap in the unnamed network")] },
    ],
    [
      "two networks that come into one domain with one address",
      [
        nad("blue/lan", { range: "10.1.0.0/24", network_name: "a" }),
        nad("red/wan", { range: "10.1.0.0/24", network_name: "b" }),
        pool("a-10.1.0.0-24", "10.1.0.0/24", { "1": "blue/x" }),
        pool("b-10.1.0.0-24", "10.1.0.0/24", { "1": "red/y" }),
      ],
      goal("named", {
        names: new Map([
          ["blue/lan", "c"],
          ["red/wan", "c"],
        ]),
      }),
      {
        conflicts: [
          expect.stringContaining("two pods have one address"),
          expect.stringContaining("10.1.0.1 would be held twice"),
        ],
      },
    ],
    [
      "somebody set network_name already: the old pool is matched by hand, and joins the new one",
      [
        nad("blue/lan", { range: "10.1.0.0/24", network_name: "lan" }),
        pool("10.1.0.0-24", "10.1.0.0/24", { "1": "blue/old" }),
        pool("lan-10.1.0.0-24", "10.1.0.0/24", { "2": "blue/new" }),
        reservation("10.1.0.1", "blue/old"),
        reservation("lan-10.1.0.2", "blue/new"),
      ],
      goal("named", { pools: new Map([["kube-system/10.1.0.0-24", "blue/lan"]]) }),
      {
        pools: ["kube-system/10.1.0.0-24 -> kube-system/lan-10.1.0.0-24"],
        records: ["kube-system/10.1.0.1 -> kube-system/lan-10.1.0.1"],
        edits: [],
        conflicts: [],
      },
    ],
    [
      "without the hand it is named, with the command",
      [
        nad("blue/lan", { range: "10.1.0.0/24", network_name: "lan" }),
        pool("10.1.0.0-24", "10.1.0.0/24", { "1": "blue/old" }),
      ],
      goal("named"),
      { pools: [], unmatched: 1 },
    ],
    [
      "conflists: the plugin that is ours is edited",
      [
        {
          kind: "NetworkAttachmentDefinition",
          metadata: { namespace: "blue", name: "list" },
          spec: {
            config: JSON.stringify({
              cniVersion: "1.0.0",
              name: "li_St",
              plugins: [{ type: "tuning" }, { type: "macvlan", ipam: { type: "whereabouts", range: "10.1.0.0/24" } }],
            }),
          },
        },
        pool("10.1.0.0-24", "10.1.0.0/24", {}),
      ],
      goal("named"),
      { pools: ["kube-system/10.1.0.0-24 -> kube-system/li-st-10.1.0.0-24"], edits: ["blue/list: network_name=li-st"] },
    ],
    [
      "slices of nodes, one of them gone, keep their node; the NodeSlicePool keeps its name",
      [
        nad("kube-system/fast", { range: "10.0.0.0/16", node_slice_size: "/24" }),
        pool("otter-10.0.1.0-24", "10.0.1.0/24", { "1": "blue/a" }),
        pool("gone-10.0.2.0-24", "10.0.2.0/24", {}),
        {
          apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
          kind: "NodeSlicePool",
          metadata: meta("fast", system),
          spec: { range: "10.0.0.0/16", sliceSize: "/24" },
          status: { allocations: [{ nodeName: "otter", sliceRange: "10.0.1.0/24" }] },
        },
      ],
      goal("named"),
      {
        pools: [
          "kube-system/otter-10.0.1.0-24 -> kube-system/fast-otter-10.0.1.0-24",
          "kube-system/gone-10.0.2.0-24 -> kube-system/fast-gone-10.0.2.0-24",
        ],
        conflicts: [],
      },
    ],
    [
      "slices under the design papers' names, one of a node that is gone, get whereabouts' name; another network's pool does not",
      [
        nad("kube-system/fast", { range: "10.0.0.0/16", node_slice_size: "/24", network_name: "fast" }),
        pool("fast-otter", "10.0.1.0/24", { "1": "blue/a" }),
        pool("fast-gone", "10.0.2.0/24", { "2": "blue/b" }),
        pool("slow-gone", "10.0.3.0/24", {}),
        {
          apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
          kind: "NodeSlicePool",
          metadata: meta("fast", system),
          spec: { range: "10.0.0.0/16", sliceSize: "/24" },
          status: { allocations: [{ nodeName: "otter", sliceRange: "10.0.1.0/24" }] },
        },
      ],
      goal("named"),
      {
        pools: [
          "kube-system/fast-otter -> kube-system/fast-otter-10.0.1.0-24",
          "kube-system/fast-gone -> kube-system/fast-gone-10.0.2.0-24",
        ],
        conflicts: [],
      },
    ],
    [
      "other IPAMs and broken definitions are left alone, the broken ones with a word",
      [
        {
          kind: "NetworkAttachmentDefinition",
          metadata: { namespace: "a", name: "b" },
          spec: { config: '{"ipam":{"type":"host-local"}}' },
        },
        {
          kind: "NetworkAttachmentDefinition",
          metadata: { namespace: "a", name: "c" },
          spec: { config: '{"ipam":{"type":"whereabouts",' },
        },
      ],
      goal("named"),
      { edits: [], unmatched: 1, conflicts: [] },
    ],
  ])("%s", (_about, objects, wish, wanted) => {
    expect(summary(makePlan(survey(objects), wish))).toMatchObject(wanted);
  });
});

/** Carries phases out on values. Key: kind, namespace/name. */
function carriedOut(objects: readonly AnyObject[], phases: readonly Phase[]): AnyObject[] {
  const world = new Map(objects.map((object) => [`${object.kind} ${keyOf(object)}`, object]));
  for (const step of phases.flatMap(({ steps }) => steps)) {
    if (step.kind === "edit") {
      const key = `NetworkAttachmentDefinition ${step.edit.key}`;
      world.set(key, { ...world.get(key)!, spec: { config: step.edit.after } });
      continue;
    }
    const object = (step.kind === "replace" ? step.after : step.object) as AnyObject;
    const key = `${object.kind} ${keyOf(object)}`;
    if (step.kind === "delete") world.delete(key);
    else world.set(key, { ...object, metadata: { ...object.metadata, uid: `uid of ${key}`, resourceVersion: "1" } });
  }
  return [...world.values()];
}

/** Every address with its owner, once for each object that says it. */
function held(objects: readonly AnyObject[]): string[] {
  const { pools, reservations } = survey(objects);
  const entries = pools.flatMap((each) =>
    readAllocations(each).entries.map(({ address, owner }) => `entry ${address} ${owner.name}`),
  );
  const records = reservations.flatMap((each) => {
    const record = readRecord(each, new Set());
    return typeof record === "string" ? [] : [`record ${record.address} ${record.owner}`];
  });
  return [...entries, ...records].sort();
}

/** Addresses that two pods have in one domain, by entries and by records. */
function doubled(objects: readonly AnyObject[]): string[] {
  const { pools, reservations } = survey(objects);
  const claims = [
    ...pools.flatMap((each) => {
      const { namespace, annotations, name = "" } = each.metadata;
      const network = annotations?.["holdfast.io/network-name"] ?? /^net\d/.exec(name)?.[0] ?? "";
      return readAllocations(each).entries.map(
        ({ address, owner }) => [`${namespace} ${network} ${address}`, owner.name] as const,
      );
    }),
    ...reservations.flatMap((each) => {
      const record = readRecord(each, new Set());
      if (typeof record === "string") return [];
      return [
        [`${record.namespace} ${record.network} ${record.address}`, each.spec.podref.split("/")[1] ?? ""] as const,
      ];
    }),
  ];
  const owners = Map.groupBy(claims, ([key]) => key);
  return [...owners].filter(([, list]) => new Set(list.map(([, owner]) => owner)).size > 1).map(([key]) => key);
}

const portrait = (objects: readonly AnyObject[]) =>
  objects
    .map(({ kind, metadata, spec }) =>
      JSON.stringify([kind, metadata.namespace, metadata.name, metadata.annotations, spec]),
    )
    .sort();

/** Networks of different or shared ranges in two namespaces, named or not; entries and records need not agree. */
const cluster = fc
  .array(
    fc.record({
      namespace: fc.constantFrom("blue", "red"),
      third: fc.integer({ min: 0, max: 3 }),
      named: fc.boolean(),
      entries: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 4 }),
      records: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 4 }),
    }),
    { maxLength: 4 },
  )
  .map((networks) => {
    const objects = new Map<string, AnyObject>();
    for (const [n, { namespace, third, named, entries, records }] of networks.entries()) {
      const network = named ? `net${n}` : "";
      const range = `10.1.${third}.0/24`;
      objects.set(`nad ${n}`, nad(`${namespace}/def${n}`, { range, ...(named && { network_name: network }) }));
      const name = `${named ? `${network}-` : ""}10.1.${third}.0-24`;
      objects.set(
        name,
        pool(name, range, Object.fromEntries(entries.map((key) => [String(key), `${namespace}/pod-${n}-${key}`]))),
      );
      for (const key of records) {
        const record = reservationName(network, parseAddress(`10.1.${third}.${key}`));
        objects.set(record, reservation(record, `${namespace}/pod-${n}-${key}`));
      }
    }
    return [...objects.values()];
  });

describe("any cluster", () => {
  const wishes = fc
    .record({
      to: fc.constantFrom(...destinations),
      naming: fc.constantFrom("whereabouts" as const, "network" as const),
      together: fc.boolean(),
    })
    .map(({ to, naming, together }) => {
      const names = new Map(
        together
          ? [0, 1, 2, 3].flatMap((n) => ["blue", "red"].map((at): [string, string] => [`${at}/def${n}`, "one"]))
          : [],
      );
      return (objects: readonly AnyObject[]) => {
        const there = new Set(objects.map((each) => keyOf(each)));
        return goal(to, { naming, names: new Map([...names].filter(([key]) => there.has(key))) });
      };
    });

  it("no address is lost or doubled, nothing is left to do afterwards, and the way back is the way there", () => {
    let applied = 0;
    fc.assert(
      fc.property(cluster, wishes, (objects, wish) => {
        const wanted = wish(objects);
        const plan = makePlan(survey(objects), wanted);
        if (plan.conflicts.length > 0) return;
        if (!isEmpty(plan)) applied += 1;
        const after = carriedOut(objects, phasesOf(plan));
        expect(new Set(held(after))).toEqual(new Set(held(objects)));
        expect(held(after).length).toBeLessThanOrEqual(held(objects).length);
        if (doubled(objects).length === 0) expect(doubled(after)).toEqual([]);
        const again = makePlan(survey(after), wanted);
        expect({ empty: isEmpty(again), conflicts: again.conflicts }).toEqual({ empty: true, conflicts: [] });
        expect(portrait(carriedOut(after, phasesBack(plan)))).toEqual(portrait(objects));
      }),
      { numRuns: 500 },
    );
    // Clusters that move at all are among them, or nothing was shown.
    expect(applied).toBeGreaterThan(50);
  });

  it("in every prefix of its steps each address is somewhere", () => {
    fc.assert(
      fc.property(cluster, wishes, fc.nat(40), (objects, wish, count) => {
        const plan = makePlan(survey(objects), wish(objects));
        if (plan.conflicts.length > 0) return;
        const steps = phasesOf(plan)
          .flatMap((phase) => phase.steps)
          .slice(0, count);
        const halfway = new Set(held(carriedOut(objects, [{ about: "", steps }])));
        expect(held(objects).filter((each) => !halfway.has(each))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
