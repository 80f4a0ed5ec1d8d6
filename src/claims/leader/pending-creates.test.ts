import { beforeEach, describe, expect, it } from "vitest";

import type { StoredClaim } from "../../cluster/resources.ts";
import { ManualClock } from "../../kube/testing/manual-clock.ts";
import { PendingCreates } from "./pending-creates.ts";

const claim = (uid: string, name = `db.${uid}`): StoredClaim => ({
  metadata: { namespace: "shop", name, uid },
  spec: { network: "net", interface: "" },
});

let clock: ManualClock;
let cached: Map<string, StoredClaim>;
let pending: PendingCreates;
beforeEach(() => {
  clock = new ManualClock();
  cached = new Map();
  pending = new PendingCreates(clock, (key) => cached.get(key));
});

const shows = (each: StoredClaim) => void cached.set(`shop/${each.metadata.name}`, each);
const uids = (family: string) => pending.of(family).map(({ metadata }) => metadata.uid);

describe("claims that are being made", () => {
  it("count once, in their namespace, until the cache shows them", () => {
    for (const key of ["shop/1", "shop/1", "shop/2", "bank/1"]) pending.begin(key);
    expect([pending.count("shop"), pending.count("bank"), pending.count("post")]).toEqual([2, 1, 0]);
    shows(claim("a", "1"));
    expect(pending.count("shop")).toBe(1);
  });

  it("count once where they are made, too", () => {
    pending.begin("shop/db.a");
    pending.made("shop/db", claim("a"));
    expect(pending.count("shop")).toBe(1);
    shows(claim("a"));
    expect(pending.count("shop")).toBe(0);
  });

  it("do not count where they were not made", () => {
    pending.begin("shop/1");
    pending.drop("shop/1");
    expect(pending.count("shop")).toBe(0);
  });

  it("are forgotten after a while, whatever the cache shows", async () => {
    pending.begin("shop/1");
    await clock.advance(60_000);
    expect(pending.count("shop")).toBe(0);
  });
});

describe("claims that the watch has not shown", () => {
  it("are those that were made, of their family only", () => {
    pending.begin("shop/db.c");
    pending.made("shop/db", claim("a"));
    pending.made("shop/web", claim("b"));
    expect(uids("shop/db")).toEqual(["a"]);
    expect(uids("shop/mail")).toEqual([]);
  });

  it("until it shows them, or their end", () => {
    pending.made("shop/db", claim("a"));
    pending.made("shop/db", claim("b"));
    pending.see(claim("a"));
    expect(uids("shop/db")).toEqual(["b"]);
  });

  it("also while it still shows, or tells the end of, one that had the name before", () => {
    pending.made("shop/db", claim("new", "db.blue"));
    shows(claim("old", "db.blue"));
    expect(uids("shop/db")).toEqual(["new"]);
    expect(pending.count("shop")).toBe(0);
    pending.see(claim("old", "db.blue"));
    expect(uids("shop/db")).toEqual(["new"]);
  });

  it("not where it was quicker than the answer", () => {
    shows(claim("a"));
    pending.made("shop/db", claim("a"));
    expect(uids("shop/db")).toEqual([]);
  });

  it("not for ever: one that was gone before the watch came again is never shown", async () => {
    pending.made("shop/db", claim("a"));
    await clock.advance(60_000);
    expect(uids("shop/db")).toEqual([]);
  });
});
