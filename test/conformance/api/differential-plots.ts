// The objects of the random stories: small alphabets, so that writers meet at the same fields often.
import * as fc from "fast-check";

import type { Plot } from "./differential.ts";

const text = fc.constantFrom("a", "b", "");
const keys = fc.constantFrom("k", "l", "m");
const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

const data = fc.dictionary(keys, text, { maxKeys: 3 });
const labels = fc.dictionary(fc.constantFrom("x", "y"), fc.constantFrom("1", "2"));

export const configMaps: Plot = {
  apiVersion: "v1",
  kind: "ConfigMap",
  collection: (namespace) => `/api/v1/namespaces/${namespace}/configmaps`,
  // Never empty: an object without any managed field is not tracked from then on, and that quirk would hide all others.
  whole: fc.record({ data: fc.dictionary(keys, text, { minKeys: 1, maxKeys: 3 }) }),
  partial: fc.record(
    {
      data: nullable(fc.dictionary(keys, nullable(text), { maxKeys: 3 })),
      metadata: fc.record(
        { labels: nullable(fc.dictionary(keys, nullable(fc.constantFrom("1", "2")))) },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  ),
  applied: fc.record({ data }, { requiredKeys: [] }),
  places: {
    "/data": data,
    "/data/k": text,
    "/data/l": text,
    "/metadata/labels": labels,
    "/metadata/labels/x": fc.constantFrom("1", "2"),
    "/metadata/annotations": data,
  },
  strategic: fc.record(
    {
      data: fc.oneof(nullable(fc.dictionary(keys, nullable(text))), fc.constant({ $patch: "replace", k: "new" })),
      metadata: fc.record({ labels: fc.dictionary(keys, nullable(fc.constantFrom("1", "2"))) }),
    },
    { requiredKeys: [] },
  ),
};

const port = fc.record({ name: fc.constantFrom("http", "dns"), port: fc.constantFrom(53, 80) });
const ports = fc.uniqueArray(port, { maxLength: 2, selector: ({ name }) => name });
const inner = fc.record({ flag: fc.boolean(), word: text }, { requiredKeys: [] });
const spec = fc.record(
  {
    text,
    number: fc.constantFrom(0, 1, 7),
    ports,
    tags: fc.uniqueArray(text, { maxLength: 3 }),
    list: fc.array(text, { maxLength: 2 }),
    atomic: data,
    map: data,
    inner,
    open: fc.record({ any: fc.oneof(text, fc.integer({ min: 0, max: 2 }), data) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const string = { type: "string" };
const strings = { type: "object", additionalProperties: string };

/** One of each thing that a schema can say about merging, defaulting and pruning. */
export const widgetSchema = {
  type: "object",
  properties: {
    text: string,
    number: { type: "integer", default: 3, maximum: 5 },
    ports: {
      type: "array",
      items: {
        type: "object",
        properties: { name: string, port: { type: "integer", default: 8080 } },
        required: ["name"],
      },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    },
    tags: { type: "array", items: string, "x-kubernetes-list-type": "set" },
    list: { type: "array", items: string },
    atomic: { ...strings, "x-kubernetes-map-type": "atomic" },
    map: strings,
    inner: {
      type: "object",
      properties: { flag: { type: "boolean", default: true }, word: { ...string, nullable: true } },
    },
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

export const widgetPlot = (group: string): Plot => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  collection: (namespace) => `/apis/${group}/v1/namespaces/${namespace}/widgets`,
  whole: spec.map((fields) => ({ spec: { text: "a", ...fields } })),
  partial: fc.record({
    spec: fc.record(
      {
        text: nullable(text),
        number: nullable(fc.constantFrom(1, 7, 4)),
        ports: nullable(fc.array(port, { maxLength: 2 })),
        tags: nullable(fc.array(text, { maxLength: 2 })),
        atomic: nullable(fc.dictionary(keys, nullable(text))),
        map: nullable(fc.dictionary(keys, nullable(text))),
        inner: nullable(fc.record({ flag: nullable(fc.boolean()), word: nullable(text) }, { requiredKeys: [] })),
        open: nullable(
          fc.record({ any: nullable(text), more: fc.constant({ deep: [1, null] }) }, { requiredKeys: [] }),
        ),
        unknown: fc.constant("pruned"),
      },
      { requiredKeys: [] },
    ),
  }),
  applied: fc.record({ spec }, { requiredKeys: [] }),
  places: {
    "/spec": spec,
    "/spec/text": text,
    "/spec/number": fc.constantFrom(0, 4, 9),
    "/spec/ports": ports,
    "/spec/ports/0": port,
    "/spec/ports/-": port,
    "/spec/tags/0": text,
    "/spec/map/k": text,
    "/spec/inner": inner,
    "/spec/open/any": text,
    "/spec/unknown": text,
  },
});

const env = fc.record({ name: fc.constantFrom("A", "B"), value: fc.constantFrom("1", "2") });
const envs = fc.uniqueArray(env, { maxLength: 2, selector: ({ name }) => name });
const container = fc.record(
  {
    name: fc.constantFrom("main", "side"),
    image: fc.constantFrom("busybox", "busybox:1"),
    env: envs,
    args: fc.array(text, { maxLength: 2 }),
    ports: fc.uniqueArray(
      fc.record({ containerPort: fc.constantFrom(53, 80), protocol: fc.constantFrom("TCP", "UDP") }),
      {
        maxLength: 2,
        selector: ({ containerPort, protocol }) => `${containerPort} ${protocol}`,
      },
    ),
  },
  { requiredKeys: ["name", "image"] },
);
const containers = fc.uniqueArray(container, { minLength: 1, maxLength: 2, selector: ({ name }) => name });
const tolerations = fc.array(fc.record({ key: keys, operator: fc.constant("Exists") }), { maxLength: 2 });
const volumes = fc.uniqueArray(fc.record({ name: fc.constantFrom("v", "w"), emptyDir: fc.constant({}) }), {
  maxLength: 2,
  selector: ({ name }) => name,
});
const podSpec = fc.record({ containers, tolerations, volumes }, { requiredKeys: ["containers"] });

const selector = { matchLabels: { app: "a" } };
const workload = (pod: object, replicas: number) => ({
  spec: { replicas, selector, template: { metadata: { labels: { app: "a" } }, spec: pod } },
});

/** A deletion of an element, an addition, or a change of one, with or without an order for all. */
const element = fc.oneof(
  container,
  fc.record({ name: fc.constantFrom("main", "side"), $patch: fc.constant("delete") }),
  fc.record({
    name: fc.constantFrom("main", "side"),
    image: fc.constantFrom("busybox", "busybox:1"),
    env: fc.array(fc.oneof(env, fc.record({ name: fc.constantFrom("A", "B"), $patch: fc.constant("delete") })), {
      maxLength: 2,
    }),
  }),
);
const strategicSpec = fc.record(
  {
    containers: fc.uniqueArray(element, { maxLength: 2, selector: ({ name }) => name }),
    "$setElementOrder/containers": fc.shuffledSubarray([{ name: "main" }, { name: "side" }], { minLength: 2 }),
    tolerations: nullable(tolerations),
    volumes: fc.uniqueArray(
      fc.oneof(
        fc.record({ name: fc.constantFrom("v", "w"), emptyDir: fc.constant({}) }),
        fc.record({ name: fc.constantFrom("v", "w"), $patch: fc.constant("delete") }),
      ),
      { maxLength: 2, selector: ({ name }) => name },
    ),
  },
  { requiredKeys: [] },
);

export const deployments: Plot = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  collection: (namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`,
  whole: fc.tuple(podSpec, fc.constantFrom(1, 2)).map(([pod, replicas]) => workload(pod, replicas)),
  partial: fc.record({ tolerations: nullable(tolerations) }).map((pod) => ({ spec: { template: { spec: pod } } })),
  applied: fc.tuple(podSpec, fc.constantFrom(1, 2)).map(([pod, replicas]) => workload(pod, replicas)),
  places: {
    "/spec/replicas": fc.constantFrom(1, 2),
    "/spec/template/spec/containers/0/image": fc.constantFrom("busybox", "busybox:1"),
    "/spec/template/spec/containers/0/env": envs,
    "/spec/template/spec/containers/-": container,
    "/spec/template/spec/tolerations": tolerations,
  },
  strategic: strategicSpec.map((pod) => ({ spec: { template: { spec: pod } } })),
};
