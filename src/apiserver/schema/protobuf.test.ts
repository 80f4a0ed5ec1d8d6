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

test("a pod: lists of messages, quantities, inline parts, numbers or strings, 0 is kept", () => {
  const quantity = message(bytes(1, "cpu"), bytes(2, message(bytes(1, "100m"))));
  const probe = message(
    bytes(1, bytes(2, message(bytes(1, "/live"), bytes(2, message(number(1, 0), number(2, 8080)))))),
    number(2, 0),
  );
  const container = message(bytes(1, "c"), bytes(2, "busybox"), bytes(8, bytes(2, quantity)), bytes(10, probe));
  const volume = message(bytes(1, "v"), bytes(2, bytes(2, message())));
  const raw = bytes(2, message(bytes(1, volume), bytes(2, container)));
  expect(decodeMessage(raw, "io.k8s.api.core.v1.Pod")).toEqual({
    spec: {
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [
        {
          name: "c",
          image: "busybox",
          resources: { requests: { cpu: "100m" } },
          livenessProbe: { httpGet: { path: "/live", port: 8080 }, initialDelaySeconds: 0 },
        },
      ],
    },
  });
});

test("times", () => {
  const at = message(number(1, 1_767_225_600), number(2, 5000));
  const raw = message(bytes(1, bytes(8, message())), bytes(2, bytes(4, at)));
  const lease = decodeMessage(raw, "io.k8s.api.coordination.v1.Lease");
  expect(lease).toEqual({ metadata: {}, spec: { renewTime: "2026-01-01T00:00:00.000000Z" } });
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
  test("no envelope", () => {
    expect(() => openEnvelope(Buffer.from("{}"))).toThrow(ProtobufError);
  });
});
