import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";

import { anyOwner, dnsLabel } from "../../../test/api/arbitrary.ts";
import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { address } from "../../../test/net/arbitrary.ts";
import { ownerKey } from "../../ipam/owner.ts";
import { parseAddress, unmapped } from "../../net/address.ts";
import { parseObject } from "../kind.ts";
import { ownerLabel, ownerLabelName } from "./owner-record.ts";
import { holdOfReservation, reservationOf } from "./reservation-hold.ts";
import { type Reservation, reservationKind } from "./reservation.ts";
import { preconditionsOf } from "./version.ts";

const written = { uid: "u-7", resourceVersion: "41" };

function stored(name: string, spec: object, metadata: object = {}): Reservation {
  return parseObject(reservationKind, {
    apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
    kind: "OverlappingRangeIPReservation",
    metadata: { name, namespace: "kube-system", ...written, ...metadata },
    spec,
  });
}

describe("a reservation of others", () => {
  test.each([
    [
      "whereabouts",
      "10.0.0.1",
      { podref: "default/web-0", ifname: "net1" },
      "network:",
      "10.0.0.1",
      "pod:default/web-0:net1",
    ],
    [
      "whereabouts, named",
      "red-10.0.0.1",
      { podref: "default/web-0" },
      "network:red",
      "10.0.0.1",
      "pod:default/web-0:",
    ],
    ["whereabouts, IPv6", "red-fd00--1", { podref: "d/w", ifname: "net1" }, "network:red", "fd00::1", "pod:d/w:net1"],
    [
      "the fork",
      "fd00-0000-0000-0000-0000-0000-0000-0001",
      { podref: "d/w", ifname: "net1", containerid: "c", poduid: "u-1" },
      "network:",
      "fd00::1",
      "pod:u-1:net1",
    ],
  ])("by %s: %s", (_, name, spec, domain, at, key) => {
    const hold = holdOfReservation(stored(name, spec));
    expect([hold.domain, hold.address.toString(), ownerKey(hold.owner)]).toEqual([domain, at, key]);
    expect(preconditionsOf(hold.version)).toEqual(written);
  });

  it("with an ambiguous name is decided by the annotation, or by the networks in use, or refused", () => {
    const spec = { podref: "d/w" };
    const annotated = stored("a-b--1", spec, { annotations: { "holdfast.io/network-name": "a" } });
    expect(holdOfReservation(annotated)).toMatchObject({ domain: "network:a" });
    const plain = stored("a-b--1", spec);
    expect(holdOfReservation(plain, new Set(["", "red"])).address.toString()).toBe("a:b::1");
    for (const networks of [undefined, new Set<string>(), new Set(["", "a"])]) {
      const { code, message } = apiRefusalOf(() => holdOfReservation(plain, networks));
      expect(code).toBe("ambiguous-name");
      expect(message).toMatch(/kube-system\/a-b--1: the name can mean a:b::1 of network "" or b::1 of network "a"/);
    }
  });

  it("whose annotation contradicts its name is what the name says", () => {
    const copied = stored("red-10.0.0.1", { podref: "d/w" }, { annotations: { "holdfast.io/network-name": "blue" } });
    expect(holdOfReservation(copied).domain).toBe("network:red");
  });

  it("that is named by no address is refused", () => {
    const { code, message } = apiRefusalOf(() => holdOfReservation(stored("red", { podref: "d/w" })));
    expect(code).toBe("bad-name");
    expect(message).toContain("kube-system/red");
  });

  it("that never was on a server has no version", () => {
    const fresh = stored("10.0.0.1", { podref: "d/w" }, { uid: undefined });
    expect(apiRefusalOf(() => holdOfReservation(fresh)).code).toBe("bad-version");
  });
});

describe("a reservation of ours", () => {
  it("is what the fork would write, and labels and an annotation", () => {
    const web = { kind: "pod", uid: "u-1", namespace: "d", name: "w", interface: "net1", containerId: "c" } as const;
    expect(
      reservationOf({ domain: "network:red", address: parseAddress("10.0.0.1"), owner: web }, "kube-system"),
    ).toEqual({
      apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
      kind: "OverlappingRangeIPReservation",
      metadata: {
        name: "red-10.0.0.1",
        namespace: "kube-system",
        labels: { [ownerLabelName]: ownerLabel(ownerKey(web)), "holdfast.io/pod-namespace": "d" },
        annotations: { "holdfast.io/network-name": "red" },
      },
      spec: { podref: "d/w", ifname: "net1", containerid: "c", poduid: "u-1" },
    });
  });

  it("is for networks only", () => {
    const claim = { kind: "claim", uid: "u", namespace: "d", name: "c" } as const;
    const hold = { domain: "pool:a/b", address: parseAddress("10.0.0.1"), owner: claim };
    expect(apiRefusalOf(() => reservationOf(hold, "kube-system")).message).toContain("record 10.0.0.1 as a Hold");
  });

  it("is read back as the hold it was made of", () => {
    const network = fc.option(dnsLabel, { nil: "" });
    fc.assert(
      fc.property(network, address.map(unmapped), anyOwner, (name, at, who) => {
        const hold = { domain: `network:${name}`, address: at, owner: who };
        const made = reservationOf(hold, "kube-system");
        const read = holdOfReservation(
          parseObject(reservationKind, { ...made, metadata: { ...made.metadata, ...written } }),
        );
        expect(read).toEqual({ ...hold, version: read.version });
      }),
    );
  });
});

test("a version that nobody here wrote is refused", () => {
  for (const text of ["", "@", "u-7", "u-7@", "@41"]) {
    expect(apiRefusalOf(() => preconditionsOf(text)).code).toBe("bad-version");
  }
});

test("labels of owners differ, are legal, and do not change between releases", () => {
  const of = (uid: string) => ownerLabel(ownerKey({ kind: "claim", uid, namespace: "d", name: "c" }));
  const labels = new Set(Array.from({ length: 1000 }, (_, n) => of(`u-${n}`)));
  expect(labels.size).toBe(1000);
  for (const each of labels) expect(each).toMatch(/^[0-9a-f]{16}$/);
  expect(of("u-1")).toMatchInlineSnapshot(`"330779428dac80dd"`);
});
