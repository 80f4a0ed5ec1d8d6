// The objects of the random stories: small alphabets, so that writers meet at the same fields often.
//
// Left out, because the embedded API is kinder there on purpose (docs/api-server.md): `$patch: delete` in a list that
// is absent, and a list whose order contradicts its $setElementOrder.
import * as fc from "fast-check";

import type { Plot } from "./differential.ts";

const text = fc.constantFrom("a", "b", "");
const keys = fc.constantFrom("k", "l", "m");
const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

const data = fc.dictionary(keys, text, { minKeys: 1, maxKeys: 3 });
const labels = fc.dictionary(fc.constantFrom("x", "y"), fc.constantFrom("1", "2"), { minKeys: 1 });

export const configMaps: Plot = {
  apiVersion: "v1",
  kind: "ConfigMap",
  collection: (namespace) => `/api/v1/namespaces/${namespace}/configmaps`,
  // Seldom empty: an object without managed fields is not tracked any more, and that quirk would hide all others.
  whole: fc.oneof({ weight: 9, arbitrary: fc.record({ data }) }, { weight: 1, arbitrary: fc.constant({}) }),
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
  applied: fc.record({ data: fc.dictionary(keys, text, { maxKeys: 3 }) }, { requiredKeys: [] }),
  places: {
    "/data": nullable(data),
    "/data/k": text,
    "/data/l": text,
    "/metadata/labels": labels,
    "/metadata/labels/x": fc.constantFrom("1", "2"),
    "/metadata/annotations": data,
  },
  strategic: fc.record(
    {
      data: nullable(
        fc.oneof(
          fc.dictionary(keys, nullable(text)),
          data.map((entries) => ({ $patch: "replace", ...entries })),
        ),
      ),
      metadata: fc.record({ labels: fc.dictionary(keys, nullable(fc.constantFrom("1", "2"))) }),
    },
    { requiredKeys: [] },
  ),
};

const port = (name: string) => fc.record({ name: fc.constant(name), port: fc.constantFrom(53, 80) });
const ports = fc.oneof(
  fc.constant([]),
  fc.tuple(port("http")),
  fc.tuple(port("http"), port("dns")),
  fc.tuple(port("dns"), port("http")),
);
const tags = fc.uniqueArray(text, { maxLength: 3 });
const inner = fc.record({ flag: fc.boolean(), word: text }, { requiredKeys: ["flag"] });
const spec = fc.record(
  {
    text,
    number: fc.constantFrom(0, 1, 7),
    ports,
    tags,
    list: fc.array(text, { maxLength: 2 }),
    atomic: fc.dictionary(keys, text, { maxKeys: 2 }),
    map: fc.dictionary(keys, text, { maxKeys: 2 }),
    inner,
    open: fc.record({ any: fc.oneof(text, fc.constantFrom({}, { k: "a" }, ["a"])) }, { requiredKeys: [] }),
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
        ports: nullable(ports),
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
    "/spec": nullable(spec),
    "/spec/text": nullable(text),
    "/spec/number": fc.constantFrom(0, 4, 9),
    "/spec/ports": ports,
    "/spec/tags": tags,
    "/spec/tags/0": text,
    "/spec/tags/-1": text,
    "/spec/tags/-": text,
    "/spec/map": data,
    "/spec/map/k": nullable(text),
    "/spec/inner": inner,
    "/spec/open/any": text,
    "/spec/unknown": text,
  },
});

const env = (name: string) => fc.record({ name: fc.constant(name), value: fc.constantFrom("1", "2", "") });
const envs = fc.oneof(fc.tuple(env("A")), fc.tuple(env("A"), env("B")), fc.tuple(env("B"), env("A")));
const image = fc.constantFrom("busybox", "busybox:1");
const containerPort = fc.record({ containerPort: fc.constantFrom(53, 80), protocol: fc.constantFrom("TCP", "UDP") });
const containerPorts = fc.uniqueArray(containerPort, { minLength: 1, maxLength: 2, selector: JSON.stringify });
const container = (name: string) =>
  fc.record(
    {
      name: fc.constant(name),
      image,
      env: envs,
      args: fc.array(text, { minLength: 1, maxLength: 2 }),
      ports: containerPorts,
    },
    { requiredKeys: ["name", "image"] },
  );
const containers = fc.oneof(
  fc.tuple(container("main")),
  fc.tuple(container("main"), container("side")),
  fc.tuple(container("side"), container("main")),
  fc.tuple(container("side"), container("side")),
);
const toleration = fc.record({ key: keys, operator: fc.constant("Exists") });
const tolerations = fc.array(toleration, { minLength: 1, maxLength: 2 });
const podSpec = fc.record({ containers, tolerations }, { requiredKeys: ["containers"] });

const selector = { matchLabels: { app: "a" } };
const workload = (pod: object, replicas: number) => ({
  spec: { replicas, selector, template: { metadata: { labels: { app: "a" } }, spec: pod } },
});

/** A change of an element, or one without an image, which only an element that is there can do without. */
const changed = (name: string) =>
  fc.record(
    {
      name: fc.constant(name),
      image,
      env: envs,
      ports: containerPorts,
      args: nullable(fc.array(text, { minLength: 1, maxLength: 2 })),
    },
    { requiredKeys: ["name"] },
  );
const strategicContainers = fc.oneof(
  fc.tuple(changed("main")),
  fc.tuple(changed("side")),
  fc.tuple(changed("new"), changed("side")),
  fc.tuple(changed("main"), changed("side")),
);
const named = (...names: string[]) => fc.constant(names.map((name) => ({ name })));
const strategicSpec = fc.oneof(
  fc.record({ containers: strategicContainers, tolerations: nullable(tolerations) }, { requiredKeys: ["containers"] }),
  fc.record({ "$setElementOrder/containers": fc.oneof(named("side", "main"), named("main", "side"), named("side")) }),
  fc.record({
    containers: fc.tuple(changed("main"), changed("new")),
    "$setElementOrder/containers": fc.oneof(named("main", "side", "new"), named("main", "new")),
  }),
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
    "/spec/template/spec/containers/0/args": fc.array(text, { minLength: 1, maxLength: 2 }),
    "/spec/template/spec/containers/0/env": envs,
    "/spec/template/spec/tolerations": tolerations,
  },
  strategic: strategicSpec.map((pod) => ({ spec: { template: { spec: pod } } })),
};
