import { beforeEach, describe, expect, it } from "vitest";

import { ManualClock } from "../kube/manual-clock.ts";
import type { StoredClaim } from "../ledger/resources.ts";
import { Unseen } from "./unseen.ts";

const claim = (uid: string): StoredClaim => ({
  metadata: { namespace: "shop", name: `db.${uid}`, uid },
  spec: { network: "net", interface: "" },
});

let clock: ManualClock;
let cached: Set<string>;
let unseen: Unseen;
beforeEach(() => {
  clock = new ManualClock();
  cached = new Set();
  unseen = new Unseen(clock, (uid) => cached.has(uid));
});

const uids = (family: string) => unseen.of(family).map(({ metadata }) => metadata.uid);

describe("claims that the watch has not shown", () => {
  it("are those that were made, of their family only", () => {
    unseen.add("shop/db", claim("a"));
    unseen.add("shop/web", claim("b"));
    expect(uids("shop/db")).toEqual(["a"]);
    expect(uids("shop/mail")).toEqual([]);
  });

  it("until it shows them, or their end, under whichever of their families", () => {
    unseen.add("shop/db", claim("a"));
    unseen.add("shop/db", claim("b"));
    unseen.see(["shop/db", "shop/other"], "a");
    expect(uids("shop/db")).toEqual(["b"]);
  });

  it("not where it was quicker than the answer", () => {
    cached.add("a");
    unseen.add("shop/db", claim("a"));
    cached.clear();
    expect(uids("shop/db")).toEqual([]);
  });

  it("not for ever: one that was gone before the watch came again is never shown", async () => {
    unseen.add("shop/db", claim("a"));
    await clock.advance(60_000);
    expect(uids("shop/db")).toEqual([]);
  });
});
