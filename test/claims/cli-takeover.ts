// `holdfast claims takeover` on a server: ipam-extensions' claims become ours, one by one, whole or not at all.
import { beforeEach, expect, it } from "vitest";

import { moveAll } from "../../src/claims/moves/move-all.ts";
import { planTakeover } from "../../src/claims/moves/takeover.ts";
import { reservations } from "../../src/cluster/resources.ts";
import { type CliFixture, theirFinalizer } from "./cli-fixture.ts";
import { movingOptions } from "./cli-moving.ts";

export function takeoverStories(fixture: () => CliFixture): void {
  beforeEach(() => fixture().clear());

  const takeover = (...argv: string[]) => fixture().run("claims", "takeover", ...argv);

  it("holds what they show, records whose they are, and puts our finalizer in place of theirs", async () => {
    const uid = await fixture().vm("db", ["blue", "dual"]);
    const user = await fixture().start();
    await fixture().theirs(uid, { ips: ["10.0.0.7/24"] });
    await fixture().theirs(uid, { nic: "dual", ips: ["10.1.0.9/24", "fd00::9/64"] });
    const before = await fixture().versions();
    const dry = await takeover("--dry-run");
    expect(dry).toMatchObject({ code: 0, err: "" });
    expect(dry.out).toContain(
      `IPAMClaim shop/db.blue: would do: mark IPAMClaim shop/db.blue, hold 10.0.0.7, used by ${user.name}`,
    );
    expect(await fixture().versions()).toEqual(before);

    const { code, out } = await takeover("-n", "shop");
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringContaining("2 done, 0 as they must be already, 0 refused."),
    });
    for (const [name, nic, ips] of [
      ["db.blue", "blue", ["10.0.0.7"]],
      ["db.dual", "dual", ["10.1.0.9", "fd00::9"]],
    ] as const) {
      const { metadata } = await fixture().readClaim(name);
      expect(metadata.finalizers).toEqual(["holdfast.io/persistent-ip"]);
      expect(metadata.labels).toMatchObject({ "holdfast.io/managed": "true" });
      expect(metadata.annotations).toMatchObject({ "holdfast.io/claim-owner": uid, "holdfast.io/claim-nic": nic });
      const holds = (await fixture().held()).filter(({ hold }) => hold.owner.uid === metadata.uid);
      expect(holds.map(({ hold }) => `${hold.address}`)).toEqual(ips);
      for (const { hold } of holds) expect(hold).toMatchObject({ users: [user], note: { identity: `${uid}/${nic}` } });
    }
    expect(await takeover()).toMatchObject({ code: 0, out: "There is nothing to do.\n" });
  });

  it("an address that the VM's pod holds by itself passes to the claim", async () => {
    const uid = await fixture().vm();
    const user = await fixture().start();
    await fixture().fixture.hold("10.0.0.7", { uid: user.uid, name: user.name, interface: "net1" });
    const { metadata } = await fixture().theirs(uid, { ips: ["10.0.0.7/24"] });
    expect(await takeover()).toMatchObject({ code: 0, err: "" });
    expect((await fixture().held()).map(({ hold }) => hold)).toMatchObject([
      { owner: { kind: "claim", uid: metadata.uid }, users: [user], note: { identity: `${uid}/blue` } },
    ]);
  });

  it("a conflict leaves that claim as it is, and the others are done", async () => {
    const uid = await fixture().vm("db", ["blue", "dual"]);
    await fixture().theirs(uid, { ips: ["10.0.0.7/24"] });
    const contested = await fixture().theirs(uid, { nic: "dual", ips: ["10.1.0.9/24", "fd00::9/64"] });
    await fixture().fixture.hold("fd00::9", { uid: "u", name: "web-0" });
    const { code, out, err } = await takeover();
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("1 was refused") });
    expect(out).toContain("IPAMClaim shop/db.dual: refused: fd00::9 is held for pod shop/web-0 (net1)");
    expect((await fixture().readClaim("db.dual")).metadata.resourceVersion).toBe(contested.metadata.resourceVersion);
    expect((await fixture().held()).map(({ hold }) => `${hold.address} ${hold.owner.name}`)).toEqual([
      "10.0.0.7 db.blue",
      "fd00::9 web-0",
    ]);
  });

  it("is refused while ipam-extensions runs; --beside says that it is meant", async () => {
    const uid = await fixture().vm();
    await fixture().theirs(uid, { ips: ["10.0.0.7/24"] });
    await fixture().extensions();
    expect(await takeover()).toMatchObject({
      code: 1,
      err: expect.stringContaining("kubevirt/ipam-extensions is at work"),
    });
    expect((await fixture().readClaim()).metadata.finalizers).toEqual([theirFinalizer]);
    expect((await takeover("--dry-run")).code).toBe(0);
    const check = await fixture().run("check", "-o", "json");
    const { findings } = JSON.parse(check.out) as { findings: { code: string }[] };
    expect(findings.map(({ code }) => code)).toEqual(expect.arrayContaining(["two-systems", "foreign-claims"]));
    expect((await takeover("--beside")).code).toBe(0);
    await fixture().withdrawExtensions();
    expect((await fixture().readClaim()).metadata.finalizers).toEqual(["holdfast.io/persistent-ip"]);
  });

  it("killed at any write, a second call finishes it", async () => {
    let isWhole = false;
    // The pool, two holds, one of them passed from the pod, and the marks.
    for (let last = 1; last <= 6 && !isWhole; last++) {
      await fixture().clear();
      const uid = await fixture().vm("db", ["dual"]);
      const user = await fixture().start();
      await fixture().fixture.hold("10.1.0.9", { uid: user.uid, name: user.name, interface: "net1" });
      const { metadata } = await fixture().theirs(uid, { nic: "dual", ips: ["10.1.0.9/24", "fd00::9/64"] });
      const again = () => moveAll(movingOptions(fixture().client, planTakeover));
      isWhole = await fixture().killedAfter(last, again);
      const holders = (await fixture().held()).map(({ hold }) => hold.owner.uid);
      expect([user.uid, metadata.uid]).toContain(holders[0]);
      expect(await again()).toMatchObject({ refused: 0 });
      for (const { hold } of await fixture().held()) {
        expect(hold).toMatchObject({ owner: { uid: metadata.uid }, note: { identity: `${uid}/dual` }, users: [user] });
      }
      expect(await fixture().held()).toHaveLength(2);
      expect((await fixture().readClaim("db.dual")).metadata.finalizers).toEqual(["holdfast.io/persistent-ip"]);
    }
    expect(isWhole).toBe(true);
  });

  it("an address that was taken between the look and the write is seen by the ledger", async () => {
    const uid = await fixture().vm("db", ["dual"]);
    const { metadata } = await fixture().theirs(uid, { nic: "dual", ips: ["10.1.0.9/24", "fd00::9/64"] });
    // Under the name by which the server arbitrates, with content that the list does not read: seen only when taken.
    await fixture().client.create(reservations, {
      metadata: {
        namespace: "kube-system",
        name: "fd00-0000-0000-0000-0000-0000-0000-0009",
        annotations: { "holdfast.io/owner-kind": "a-later-kind", "holdfast.io/network-name": "" },
      },
      spec: { podref: "shop/x" },
    });
    const { code, out } = await takeover();
    expect(code).toBe(1);
    expect(out).toContain("IPAMClaim shop/db.dual: refused: fd00::9 is held for");
    expect((await fixture().held()).filter(({ hold }) => hold.owner.uid === metadata.uid)).toEqual([]);
    expect((await fixture().readClaim("db.dual")).metadata.finalizers).toEqual([theirFinalizer]);
  });
}
