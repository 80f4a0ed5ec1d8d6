// The newest version of an object counts, from an informer or from a write.
import { describe, expect, it } from "vitest";

import type { Informer, InformerEvent } from "../kube/cache/informer.ts";
import type { KubeObject } from "../kube/meta.ts";
import { ReadYourWrites } from "./read-your-writes.ts";

const object = (version: number, uid = "u"): KubeObject => ({
  metadata: { name: "a", namespace: "n", uid, resourceVersion: String(version) },
});

function stage() {
  const told: string[] = [];
  const latest = new ReadYourWrites<KubeObject>(
    {},
    ({ metadata }, _previous, isGone) =>
      void told.push(`${metadata.uid} ${metadata.resourceVersion}${isGone ? " gone" : ""}`),
    (error) => {
      throw error;
    },
  );
  let handler: (event: InformerEvent<KubeObject>) => void = () => {};
  const informer = { handle: (each: typeof handler) => ((handler = each), () => {}) };
  latest.follow(informer as unknown as Informer<KubeObject>);
  const version = () => latest.get("n/a")?.metadata.resourceVersion;
  return { latest, told, version, tell: (event: InformerEvent<KubeObject>) => handler(event) };
}

describe("an own write", () => {
  it("counts at once, and an event from before it changes nothing", () => {
    const { latest, tell, version, told } = stage();
    tell({ type: "add", object: object(9) });
    latest.put(object(12));
    tell({ type: "update", object: object(10), previous: object(9) });
    expect(version()).toBe("12");
    tell({ type: "update", object: object(12), previous: object(10) });
    tell({ type: "update", object: object(13), previous: object(12) });
    expect(told).toEqual(["u 9", "u 12", "u 13"]);
  });

  it("versions are numbers, not texts", () => {
    const { latest, version } = stage();
    latest.put(object(99));
    latest.put(object(100));
    expect(version()).toBe("100");
  });
});

describe("an object that we deleted", () => {
  it("does not come back by an event from before its end", () => {
    const { latest, tell, version, told } = stage();
    tell({ type: "add", object: object(9) });
    latest.drop(object(9));
    tell({ type: "update", object: object(10), previous: object(9) });
    expect(version()).toBeUndefined();
    tell({ type: "delete", object: object(11), missed: false });
    expect(told).toEqual(["u 9", "u 9 gone"]);
  });

  it("may be made anew, and the end of the old one does not end the new one", () => {
    const { latest, tell, version } = stage();
    latest.put(object(9));
    latest.drop(object(9));
    latest.put(object(12, "v"));
    tell({ type: "delete", object: object(11), missed: false });
    expect(version()).toBe("12");
  });
});

it("another's delete and a new object of the same name are told as such", () => {
  const { tell, told } = stage();
  tell({ type: "add", object: object(9) });
  tell({ type: "delete", object: object(9), missed: true });
  tell({ type: "add", object: object(12, "v") });
  expect(told).toEqual(["u 9", "u 9 gone", "v 12"]);
});

it("a server whose history went back is believed: versions are lower after a restore", () => {
  const { latest, tell, version, told } = stage();
  tell({ type: "add", object: object(9) });
  latest.put(object(12));
  tell({ type: "update", object: object(12), previous: object(9) });
  tell({ type: "update", object: object(7), previous: object(12) });
  expect(version()).toBe("7");
  latest.put(object(8));
  tell({ type: "update", object: object(8), previous: object(7) });
  expect(told).toEqual(["u 9", "u 12", "u 7", "u 8"]);
});
