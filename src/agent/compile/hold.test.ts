import { describe, expect, test } from "vitest";

import { holdObjectOf } from "../../api/holds/hold-object.ts";
import { quarantineAnnotation } from "../../api/vmnet/marks.ts";
import type { StoredHold } from "../../cluster/resources.ts";
import { parseAddress } from "../../net/address.ts";
import { compileHold, quarantineOf, quarantineText, trimHold } from "./hold.ts";

const domain = "vm-network:default/net-1";

function hold(mac = "02:00:00:00:00:01", address = "10.1.0.5"): StoredHold {
  const owner = { kind: "nic", uid: "u-1", namespace: "default", name: "web", nic: mac } as const;
  const note = { pool: "default/pool-1", mac: "02:00:00:00:00:01", why: "the lowest that was free" };
  const made = holdObjectOf({ domain, address: parseAddress(address), owner, note }, "kube-system");
  const written = { uid: "h-1", resourceVersion: "7", creationTimestamp: "2026-11-18T04:00:00Z" };
  return { ...made, metadata: { ...made.metadata, ...written } } as StoredHold;
}

describe("a Hold of a VM network", () => {
  test("is a binding with the VM's name", () => {
    expect(compileHold(hold(), domain)).toMatchObject({
      definition: { pool: "default/pool-1", mac: "02:00:00:00:00:01", hostName: "web" },
      owner: { kind: "nic", uid: "u-1", namespace: "default", name: "web" },
      createdMs: Date.UTC(2026, 10, 18, 4),
      quarantine: undefined,
    });
  });

  test("says the same when it is trimmed, and no more than what is read", () => {
    const trimmed = trimHold(structuredClone(hold()));
    expect(compileHold(trimmed, domain)).toEqual(compileHold(hold(), domain));
    expect(JSON.stringify(trimmed)).not.toContain("lowest");
    expect(JSON.stringify(trimmed).length).toBeLessThan(500);
  });

  test.each(["02-AA-00-00-00-0B", "02aa.0000.000b", "02:AA:00:00:00:0B"])("has the MAC %s in its one form", (mac) => {
    expect(compileHold(hold(mac), domain)).toMatchObject({ definition: { mac: "02:aa:00:00:00:0b" } });
  });

  test("with a MAC that is none is a sentence", () => {
    expect(compileHold(hold("zz:bad"), domain)).toMatch(/"zz:bad" is not a MAC address/);
  });

  test("whose name says another address, or that is of another network, is a sentence", () => {
    const forged = hold();
    forged.spec.address = "10.1.0.6";
    expect(compileHold(forged, domain)).toMatch(/would be named vm-network.default.net-1-10.1.0.6/);
    expect(compileHold(hold(), "vm-network:default/other")).toMatch(/among those of vm-network:default\/other/);
    const strange = hold();
    strange.spec.address = "ten";
    expect(compileHold(strange, domain)).toMatch(/not an IP address/);
  });

  test("without a pool is a sentence", () => {
    const made = hold();
    delete made.metadata.annotations;
    expect(compileHold(made, domain)).toMatch(/holdfast.io\/pool is missing/);
  });

  test("of an IPv6 address is a binding of DHCPv6", () => {
    expect(compileHold(hold("02:00:00:00:00:01", "fd00::5"), domain)).toMatchObject({
      family: 6,
      definition: { address: parseAddress("fd00::5"), pool: "default/pool-1", mac: "02:00:00:00:00:01" },
      owner: { kind: "nic", uid: "u-1", namespace: "default", name: "web" },
    });
  });

  test("that cools is nothing", () => {
    const cooling = hold();
    cooling.metadata.labels = { ...cooling.metadata.labels, "holdfast.io/cooling": "true" };
    expect(compileHold(cooling, domain)).toBeUndefined();
  });

  test("carries its quarantine", () => {
    const made = hold();
    made.metadata.annotations = {
      ...made.metadata.annotations,
      [quarantineAnnotation]: "2026-11-18T05:00:00.000Z decline",
    };
    expect(compileHold(made, domain)).toMatchObject({
      quarantine: { untilMs: Date.UTC(2026, 10, 18, 5), by: "decline" },
    });
  });
});

describe("the text of a quarantine", () => {
  test("is read as it was written", () => {
    for (const by of ["decline", "probe"] as const) {
      const quarantine = { untilMs: Date.UTC(2026, 10, 18), by };
      expect(quarantineOf(quarantineText(quarantine))).toEqual(quarantine);
    }
  });

  test("has no end where nobody can read it, and is none where it is empty", () => {
    expect(quarantineOf("soon")).toEqual({ untilMs: Infinity, by: "probe" });
    expect(quarantineOf("")).toBeUndefined();
    expect(quarantineOf(undefined)).toBeUndefined();
  });
});
