// What a picture learns from lists and hints, and must not unlearn: addresses that this node holds or is writing.
import { beforeEach, describe, expect, it } from "vitest";

import { type Owner, ownerKey } from "../../ipam/owner.ts";
import { parseAddress } from "../../net/address.ts";
import { parseBlock } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { HoldIndex } from "../holds/hold-index.ts";
import { CandidateSpread } from "./candidate-spread.ts";
import { DomainCache } from "./domain-cache.ts";

const domain = "network:";
const namespace = "kube-system";
const pod = (name: string): Owner => ({
  kind: "pod",
  uid: `u-${name}`,
  namespace: "d",
  name,
  interface: "eth0",
  containerId: name,
});
const hold = (last: number, name: string) => ({
  domain,
  address: parseAddress(`10.0.0.${last}`),
  owner: pod(name),
  version: "1",
});
const wide = { prefix: parsePrefix("10.0.0.0/24"), cooldownMs: 0 };
const narrow = { prefix: parsePrefix("10.0.0.0/28"), cooldownMs: 0 };

let nowMs: number;
let held: HoldIndex;
let picture: DomainCache;
const lowest = (definition = wide) => String(picture.poolFor(definition).nextFree(parseAddress("10.0.0.1")));

beforeEach(() => {
  nowMs = 1000;
  held = new HoldIndex();
  const now = () => nowMs;
  const makeSpread = () => new CandidateSpread({ seed: "node", now, daemons: () => 10 });
  picture = new DomainCache({ namespace, domain, held, now, makeSpread });
});

describe("pools of one domain", () => {
  it("share what is learnt, whichever was there first", () => {
    picture.poolFor(wide);
    picture.met(hold(1, "far"));
    picture.took(hold(2, "own"));
    held.put({ namespace, hold: hold(2, "own") });
    expect([lowest(wide), lowest(narrow)]).toEqual(["10.0.0.3", "10.0.0.3"]);
    picture.released(hold(2, "own").address, pod("own"), 0);
    expect([lowest(wide), lowest(narrow)]).toEqual(["10.0.0.2", "10.0.0.2"]);
  });

  it("what was given back before its own pool was made is its owner's while it rests, whatever other pools there are", () => {
    picture.poolFor({ ...wide, prefix: parsePrefix("10.9.0.0/24") });
    picture.released(hold(7, "own").address, pod("own"), 500);
    const rests = () => picture.poolFor({ ...wide, cooldownMs: 500 }).returnsTo(hold(7, "own").address, pod("own"));
    expect(rests()).toBe(true);
  });

  it("the same definition is the same pool", () => {
    expect(picture.poolFor({ ...wide })).toBe(picture.poolFor(wide));
    expect(picture.poolFor({ ...wide, cooldownMs: 1 })).not.toBe(picture.poolFor(wide));
  });
});

describe("a list", () => {
  it("brings what others hold and what rests, and takes away what they gave back", () => {
    const lastOwner = ownerKey(pod("x"));
    picture.replace([{ hold: hold(1, "far") }, { hold: hold(2, "x"), cooling: { untilMs: 5000, lastOwner } }], nowMs);
    expect(lowest()).toBe("10.0.0.3");
    nowMs = 6000;
    expect(lowest()).toBe("10.0.0.2");
    picture.replace([], nowMs);
    expect(lowest()).toBe("10.0.0.1");
  });

  it("does not overwrite what this node holds, nor what it is just writing", () => {
    const pool = picture.poolFor(wide);
    held.put({ namespace, hold: hold(1, "own") });
    picture.took(hold(1, "own"));
    pool.take(parseAddress("10.0.0.2"), pod("writing"));
    picture.replace([{ hold: hold(1, "before") }, { hold: hold(2, "before-too") }], 500);
    expect([pool.ownerAt(parseAddress("10.0.0.1")), pool.ownerAt(parseAddress("10.0.0.2"))]).toEqual([
      pod("own"),
      pod("writing"),
    ]);
    picture.replace([], nowMs);
    expect([pool.ownerAt(parseAddress("10.0.0.1")), pool.ownerAt(parseAddress("10.0.0.2"))]).toEqual([
      pod("own"),
      pod("writing"),
    ]);
  });

  it("does not take away what was learnt after it began", () => {
    picture.poolFor(wide);
    nowMs = 2000;
    picture.met(hold(1, "far"));
    picture.replace([], 1500);
    expect(lowest()).toBe("10.0.0.2");
  });
});

describe("a free map", () => {
  it("is not offered, and what it no longer has is free, unless learnt since", () => {
    picture.poolFor(wide);
    picture.met(hold(1, "far"));
    nowMs = 3000;
    picture.met(hold(2, "later"));
    picture.suppose(wide.prefix, [parseBlock("10.0.0.3-10.0.0.9")], 6000);
    expect(lowest()).toBe("10.0.0.10");
    picture.suppose(wide.prefix, [parseBlock("10.0.0.3-10.0.0.9")], 7000);
    expect(lowest()).toBe("10.0.0.1");
    picture.took(hold(1, "own"));
    expect(lowest()).toBe("10.0.0.10");
  });
});

it("a conflict in one range leaves another of the same domain at rest", () => {
  const [met, beside] = [wide, { ...wide, prefix: parsePrefix("10.9.0.0/24") }].map((each) => picture.poolFor(each));
  for (const lost of ["10.0.0.1", "10.0.0.2", "10.0.0.3"]) picture.spreadOf(met!).met(parseAddress(lost));
  expect([picture.spreadOf(met!).stripes, picture.spreadOf(beside!).stripes]).toEqual([80, 1]);
});
