// Appliers that meet: each states a field of its own, all at once, and none is refused or lost.
import { expect, test } from "vitest";

import { call, maps, open } from "./in-process.ts";

const body = (at: number) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "shared" },
  data: { [`k${at}`]: String(at) },
});

test("twenty appliers of an object that is not there yet make one object of all they state", async () => {
  const api = open();
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      call(api, "PATCH", `${maps}/shared?fieldManager=m${at}`, body(at), "application/apply-patch+yaml"),
    ),
  );
  expect(replies.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1);
  expect(replies.every(({ status }) => status < 300)).toBe(true);
  const { data, metadata } = (await call(api, "GET", `${maps}/shared`)).body as {
    data: object;
    metadata: { managedFields: object[] };
  };
  expect(Object.keys(data)).toHaveLength(20);
  expect(metadata.managedFields).toHaveLength(20);
});

test("fifty patches of one object at once all arrive, without a conflict", async () => {
  const api = open();
  await call(api, "POST", maps, { metadata: { name: "hot" } });
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, at) =>
      call(api, "PATCH", `${maps}/hot`, { data: { [`k${at}`]: "v" } }, "application/merge-patch+json"),
    ),
  );
  expect(replies.every(({ status }) => status === 200)).toBe(true);
  expect(Object.keys((await call(api, "GET", `${maps}/hot`)).body["data"] as object)).toHaveLength(50);
});
