// Objects as whereabouts, its fork and this system write them. Each must be stored and read back unchanged.
import { holdObjectOf } from "../../../src/api/holds/hold-object.ts";
import { reservationOf } from "../../../src/api/holds/reservation-hold.ts";
import { parseAddress } from "../../../src/net/address.ts";

export interface Sample {
  readonly about: string;
  readonly plural: string;
  readonly body: SampleBody;
  /** Written through the status subresource, where there is one to write. */
  readonly status?: object;
}

interface SampleBody {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string | undefined };
  readonly spec: object;
}

const v1alpha1 = "whereabouts.cni.cncf.io/v1alpha1";
const ready = [
  { type: "Ready", status: "True", reason: "Reconciled", message: "", lastTransitionTime: "2026-08-20T10:00:00Z" },
];

const claim = { kind: "claim", uid: "0a1b", namespace: "default", name: "vm-a.net1" } as const;

const object = (kind: string, name: string, spec: object): SampleBody => ({
  apiVersion: v1alpha1,
  kind,
  metadata: { name },
  spec,
});

export const samples: readonly Sample[] = [
  {
    about: "a pool of whereabouts",
    plural: "ippools",
    body: object("IPPool", "192.168.2.0-24", {
      range: "192.168.2.0/24",
      allocations: {
        "1": { id: "4f5c8d", podref: "default/web-0", ifname: "net1" },
        "2": { id: "9a0b1c", podref: "default/web-1", ifname: "net1" },
      },
    }),
  },
  {
    about: "a pool of an early whereabouts: host bits, no interface names",
    plural: "ippools",
    body: object("IPPool", "192.168.2.225-28", {
      range: "192.168.2.225/28",
      allocations: { "4": { id: "4f5c8d", podref: "default/old" } },
    }),
  },
  {
    about: "a pool of the fork, with its status, and a field that nobody knows yet",
    plural: "ippools",
    body: object("IPPool", "red-fd00---64", {
      range: "fd00::/64",
      enable_l3: true,
      allocations: { "18446744073709551615": { id: "77aa", podref: "default/six", ifname: "net2", later: "x" } },
      later: { deep: [1, 2] },
    }),
    status: {
      firstIP: "fd00::1",
      lastIP: "fd00::ffff:ffff:ffff:fffe",
      totalIPs: "18446744073709551614",
      usedIPs: 1,
      freeIPs: "18446744073709551613",
      orphanedIPs: 0,
      pendingPods: 0,
      overlappingReservations: 1,
      allocatedIPs: [{ ip: "fd00::ffff:ffff:ffff:ffff", podRef: "default/six", ifName: "net2" }],
      conditions: ready,
      later: 5,
    },
  },
  {
    about: "a reservation of whereabouts",
    plural: "overlappingrangeipreservations",
    body: object("OverlappingRangeIPReservation", "red-192.168.2.1", { podref: "default/web-0", ifname: "net1" }),
  },
  {
    about: "a reservation of the fork",
    plural: "overlappingrangeipreservations",
    body: object("OverlappingRangeIPReservation", "fd00-0000-0000-0000-0000-0000-0000-0001", {
      containerid: "4f5c8d",
      podref: "default/web-0",
      ifname: "net1",
      poduid: "5d0c9c1e",
    }),
    status: { conditions: ready },
  },
  {
    about: "a reservation of ours, for a claim",
    plural: "overlappingrangeipreservations",
    body: reservationOf({ domain: "network:red", address: parseAddress("fd00::2"), owner: claim }, "default"),
  },
  {
    about: "slices of nodes",
    plural: "nodeslicepools",
    body: object("NodeSlicePool", "red", { range: "10.0.0.0/8", sliceSize: "/20" }),
    status: {
      allocations: [
        { nodeName: "otter", sliceRange: "10.0.0.0/20" },
        { nodeName: "", sliceRange: "10.0.16.0/20" },
      ],
      totalSlices: 4096,
      assignedSlices: 1,
      freeSlices: 4095,
      conditions: ready,
    },
  },
  {
    about: "a hold",
    plural: "holds",
    body: holdObjectOf(
      {
        domain: "pool:default/10.0.0.0-8",
        address: parseAddress("10.0.0.7"),
        owner: claim,
        note: { pool: "default/10.0.0.0-8", why: "lowest" },
      },
      "default",
      "node1",
    ),
  },
];

/** The definition that whereabouts installs: no status, no columns, only its own fields. */
export const whereaboutsDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "ippools.whereabouts.cni.cncf.io" },
  spec: {
    group: "whereabouts.cni.cncf.io",
    scope: "Namespaced",
    names: { kind: "IPPool", listKind: "IPPoolList", plural: "ippools", singular: "ippool" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                required: ["allocations", "range"],
                properties: {
                  range: { type: "string" },
                  allocations: {
                    type: "object",
                    additionalProperties: {
                      type: "object",
                      required: ["id", "podref"],
                      properties: { id: { type: "string" }, podref: { type: "string" }, ifname: { type: "string" } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/** Stored under that definition, before ours takes its place. */
export const earlierPool = object("IPPool", "10.9.0.0-16", {
  range: "10.9.0.0/16",
  allocations: { "1": { id: "4f5c8d", podref: "default/web-0", ifname: "net1" } },
});

export interface BadSample {
  readonly about: string;
  readonly plural: string;
  readonly body: object;
  /** The field that the refusal must name. */
  readonly field: string;
}

export const badSamples: readonly BadSample[] = [
  {
    about: "a pool without a range",
    plural: "ippools",
    body: object("IPPool", "bad", { allocations: {} }),
    field: "spec.range",
  },
  {
    about: "a pool without allocations",
    plural: "ippools",
    body: object("IPPool", "bad", { range: "10.0.0.0/8" }),
    field: "spec.allocations",
  },
  {
    about: "an allocation without a podref",
    plural: "ippools",
    body: object("IPPool", "bad", { range: "10.0.0.0/8", allocations: { "1": { id: "x" } } }),
    field: "spec.allocations.1.podref",
  },
  {
    about: "a reservation without a podref",
    plural: "overlappingrangeipreservations",
    body: object("OverlappingRangeIPReservation", "10.0.0.1", {}),
    field: "spec.podref",
  },
  {
    about: "a slice size that is a number",
    plural: "nodeslicepools",
    body: object("NodeSlicePool", "bad", { range: "10.0.0.0/8", sliceSize: 20 }),
    field: "spec.sliceSize",
  },
  {
    about: "a hold of nobody",
    plural: "holds",
    body: {
      apiVersion: "holdfast.io/v1alpha1",
      kind: "Hold",
      metadata: { name: "bad" },
      spec: { domain: "pool:a/b", address: "10.0.0.1" },
    },
    field: "spec.owner",
  },
  {
    about: "a hold of an owner of no kind",
    plural: "holds",
    body: {
      apiVersion: "holdfast.io/v1alpha1",
      kind: "Hold",
      metadata: { name: "bad" },
      spec: {
        domain: "pool:a/b",
        address: "10.0.0.1",
        owner: { kind: "ghost", uid: "", namespace: "a", name: "b" },
      },
    },
    field: "spec.owner.kind",
  },
];
