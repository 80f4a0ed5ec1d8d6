import { describe, expect, test } from "vitest";

import { decodeMessage, openEnvelope, ProtobufError } from "./protobuf.ts";

/** Writes the wire by hand, so that the reader is not tested against itself. */
const varint = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]);
const bytes = (field: number, value: Buffer | string) => {
  const content = Buffer.from(value as string);
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(content.length)]), content]);
};
const number = (field: number, value: number) => Buffer.from([...varint(field * 8), ...varint(value)]);
const message = (...fields: Buffer[]) => Buffer.concat(fields);

test("a configmap: text, maps, bytes in base64, an empty string as absent", () => {
  const metadata = message(bytes(1, "a"), bytes(2, ""), bytes(11, message(bytes(1, "app"), bytes(2, "web"))));
  const raw = message(
    bytes(1, metadata),
    bytes(2, message(bytes(1, "k"), bytes(2, "v"))),
    bytes(2, message(bytes(1, "empty"))),
    bytes(3, message(bytes(1, "b"), bytes(2, Buffer.from([0, 255])))),
    number(4, 1),
  );
  expect(decodeMessage(raw, "io.k8s.api.core.v1.ConfigMap")).toEqual({
    metadata: { name: "a", labels: { app: "web" } },
    data: { k: "v", empty: "" },
    binaryData: { b: "AP8=" },
    immutable: true,
  });
});

test("a pod: lists of messages, quantities, inline parts, numbers or strings; zero is absent where Go leaves it out, and kept where a pointer meant it", () => {
  const quantity = message(bytes(1, "cpu"), bytes(2, message(bytes(1, "100m"))));
  const probe = message(
    bytes(1, bytes(2, message(bytes(1, "/live"), bytes(2, message(number(1, 0), number(2, 8080)))))),
    number(2, 0),
  );
  const container = message(bytes(1, "c"), bytes(2, "busybox"), bytes(8, bytes(2, quantity)), bytes(10, probe));
  const volume = message(bytes(1, "v"), bytes(2, bytes(2, message())));
  const raw = bytes(2, message(bytes(1, volume), bytes(2, container), number(4, 0), number(11, 0)));
  expect(decodeMessage(raw, "io.k8s.api.core.v1.Pod")).toEqual({
    spec: {
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [
        {
          name: "c",
          image: "busybox",
          resources: { requests: { cpu: "100m" } },
          livenessProbe: { httpGet: { path: "/live", port: 8080 } },
        },
      ],
      terminationGracePeriodSeconds: 0,
    },
  });
});

test("times", () => {
  const at = message(number(1, 1_767_225_600), number(2, 123_456_000));
  const raw = message(bytes(1, bytes(8, message())), bytes(2, bytes(4, at)));
  const lease = decodeMessage(raw, "io.k8s.api.coordination.v1.Lease");
  expect(lease).toEqual({ metadata: {}, spec: { renewTime: "2026-01-01T00:00:00.123456Z" } });
});

test("the schema of a CRD: values, one or several, a schema or yes and no, names with dashes", () => {
  const any = (value: unknown) => bytes(1, JSON.stringify(value));
  const text = bytes(5, "string");
  const entry = (name: string, schema: Buffer) => bytes(29, message(bytes(1, name), bytes(2, schema)));
  const rule = message(bytes(1, "self.a > 0"), bytes(2, "be positive"));
  const schema = message(
    bytes(5, "object"),
    number(10, 0),
    entry("a", message(text, bytes(8, any("x")), bytes(20, any("x")), bytes(20, any(null)), number(40, 1))),
    entry("list", message(bytes(24, bytes(1, text)))),
    entry("lists", message(bytes(24, message(bytes(2, text), bytes(2, text))))),
    entry("free", message(bytes(30, number(1, 1)), number(38, 1))),
    entry("map", message(bytes(30, message(number(1, 1), bytes(2, text))))),
    bytes(32, message(bytes(1, "a"), bytes(2, message(bytes(2, "list"))))),
    bytes(44, rule),
  );
  expect(decodeMessage(schema, "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")).toEqual({
    type: "object",
    properties: {
      a: { type: "string", default: "x", enum: ["x", null], "x-kubernetes-int-or-string": true },
      list: { items: { type: "string" } },
      lists: { items: [{ type: "string" }, { type: "string" }] },
      free: { additionalProperties: true, "x-kubernetes-preserve-unknown-fields": true },
      map: { additionalProperties: { type: "string" } },
    },
    dependencies: { a: ["list"] },
    "x-kubernetes-validations": [{ rule: "self.a > 0", message: "be positive" }],
  });
});

test("the envelope names the kind", () => {
  const head = message(bytes(1, "v1"), bytes(2, "ConfigMap"));
  const body = Buffer.concat([Buffer.from("k8s\0"), bytes(1, head), bytes(2, "raw")]);
  expect(openEnvelope(body)).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", raw: Buffer.from("raw") });
});

describe("what is malformed is refused", () => {
  const table: [string, Buffer][] = [
    ["a field that ends early", Buffer.from([0x0a, 0x20, 0x01])],
    ["a number without an end", Buffer.alloc(12, 0xff)],
    ["a group, which Kubernetes does not use", Buffer.from([0x0b])],
  ];
  test.each(table)("%s", (_name, raw) => {
    expect(() => decodeMessage(raw, "io.k8s.api.core.v1.ConfigMap")).toThrow(ProtobufError);
  });
  test("a schema within a schema, too deep for those who read it next", () => {
    let schema = Buffer.alloc(0);
    for (let depth = 0; depth < 2000; depth++) schema = bytes(28, schema);
    const definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    expect(() => decodeMessage(schema, definition)).toThrow("nested more than 1000 deep");
  });
  test("no envelope", () => {
    expect(() => openEnvelope(Buffer.from("{}"))).toThrow(ProtobufError);
  });
});
