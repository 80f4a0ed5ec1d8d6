// The objects of the random stories: small alphabets, so that writers meet at the same fields often.
//
// Left out, because the embedded API does not follow the real one there: empty maps and lists that somebody applies (they
// are fields that can conflict), preserved unknown fields that somebody applies, lists that are applied or patched in
// another order than they have, `$patch: replace` of a map that is absent, and the validation of pod templates.
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
  // Never empty: an object without any managed field is not tracked from then on, and that quirk would hide all others.
  whole: fc.record({ data }),
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
      data: nullable(fc.dictionary(keys, nullable(text))),
      metadata: fc.record({ labels: fc.dictionary(keys, nullable(fc.constantFrom("1", "2"))) }),
    },
    { requiredKeys: [] },
  ),
};

const port = (name: string) => fc.record({ name: fc.constant(name), port: fc.constantFrom(53, 80) });
const ports = fc.oneof(fc.tuple(port("http")), fc.tuple(port("http"), port("dns")));
const inner = fc.record({ flag: fc.boolean(), word: text }, { requiredKeys: ["flag"] });
const spec = fc.record(
  {
    text,
    number: fc.constantFrom(0, 1, 7),
    ports,
    list: fc.array(text, { minLength: 1, maxLength: 2 }),
    atomic: data,
    map: data,
    inner,
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
    "/spec": spec,
    "/spec/text": text,
    "/spec/number": fc.constantFrom(0, 4, 9),
    "/spec/ports": ports,
    "/spec/tags/0": text,
    "/spec/map/k": text,
    "/spec/inner": inner,
    "/spec/open/any": text,
    "/spec/unknown": text,
  },
});

const env = (name: string) => fc.record({ name: fc.constant(name), value: fc.constantFrom("1", "2") });
const envs = fc.oneof(fc.tuple(env("A")), fc.tuple(env("A"), env("B")));
const image = fc.constantFrom("busybox", "busybox:1");
const container = (name: string) =>
  fc.record(
    {
      name: fc.constant(name),
      image,
      env: envs,
      args: fc.array(text, { minLength: 1, maxLength: 2 }),
      ports: fc.tuple(fc.record({ containerPort: fc.constantFrom(53, 80), protocol: fc.constantFrom("TCP", "UDP") })),
    },
    { requiredKeys: ["name", "image"] },
  );
const containers = fc.tuple(container("main"), container("side"));
const toleration = fc.record({ key: keys, operator: fc.constant("Exists") });
const tolerations = fc.array(toleration, { minLength: 1, maxLength: 2 });
const podSpec = fc.record({ containers, tolerations }, { requiredKeys: ["containers"] });

const selector = { matchLabels: { app: "a" } };
const workload = (pod: object, replicas: number) => ({
  spec: { replicas, selector, template: { metadata: { labels: { app: "a" } }, spec: pod } },
});

/** A change of an element that is there. */
const changed = (name: string) =>
  fc.record(
    { name: fc.constant(name), image, args: nullable(fc.array(text, { minLength: 1, maxLength: 2 })) },
    { requiredKeys: ["name"] },
  );
const strategicSpec = fc.record(
  {
    containers: fc.oneof(fc.tuple(changed("main")), fc.tuple(changed("main"), changed("side"))),
    "$setElementOrder/containers": fc.constant([{ name: "main" }, { name: "side" }]),
    tolerations: nullable(tolerations),
  },
  { requiredKeys: ["containers", "$setElementOrder/containers"] },
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
