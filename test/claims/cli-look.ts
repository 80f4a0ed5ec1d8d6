// `holdfast claims`, `who` and `check` on a server: what a person sees of a VM's addresses.
import { beforeEach, expect, it } from "vitest";

import { pods } from "../../src/cluster/resources.ts";
import type { CliFixture } from "./cli-fixture.ts";

export function lookStories(fixture: () => CliFixture): void {
  beforeEach(() => fixture().clear());

  /** A VM that runs with an address. */
  const running = async () => {
    const uid = await fixture().vm();
    const user = await fixture().start();
    const { metadata } = await fixture().ours(uid, { ips: ["10.0.0.7/24"] });
    const owner = { kind: "claim", uid: metadata.uid ?? "", namespace: "shop", name: "db.blue" } as const;
    await fixture().hold("10.0.0.7", owner, { note: { identity: `${uid}/blue` }, users: [user] });
    return { uid, user, claim: metadata.uid ?? "" };
  };

  it("lists claims, and shows one whole", async () => {
    const { uid, user, claim } = await running();
    const list = await fixture().run("claims", "-A");
    expect(list).toMatchObject({ code: 0, err: "" });
    expect(list.out).toMatch(
      /^NAMESPACE +CLAIM +VM +NETWORK +IPS +STATE +PODS +NODES +AGE\nshop +db\.blue +db +blue-net +10\.0\.0\.7\/24 +bound +virt-launcher-db +n1 +\d+s\n$/,
    );
    const whole = await fixture().run("claims", "-n", "shop", "db.blue");
    expect(whole.out).toContain("shop/db.blue: bound");
    expect(whole.out).toContain(`owner       VirtualMachine shop/db (${uid})`);
    expect(whole.out).toContain(`users       ${user.name} lives (node n1 ready, ${user.uid})`);
    const json = JSON.parse((await fixture().run("claims", "-n", "shop", "db", "-o", "json")).out) as {
      claims: unknown;
    };
    expect(json.claims).toMatchObject([
      { claim: "db.blue", vm: "db", nic: "blue", state: "bound", ips: ["10.0.0.7/24"] },
    ]);
    const one = JSON.parse((await fixture().run("claims", "-n", "shop", "db.blue", "-o", "json")).out) as {
      claims: unknown;
    };
    expect(one.claims).toMatchObject([{ uid: claim, ownerUid: uid, identities: [`${uid}/blue`] }]);
  });

  it("says that there is nothing, and where it looked", async () => {
    expect(await fixture().run("claims", "-A")).toMatchObject({ code: 0, out: "There are no claims.\n" });
    const none = await fixture().run("claims", "web.blue");
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining("no claim web.blue") });
    expect(none.err).toContain("in namespace default (-A looks in all)");
  });

  it("an address, a claim, a VM and a pod of it all lead to the same answer", async () => {
    const { uid, user } = await running();
    for (const asked of ["10.0.0.7", "shop/db.blue", "shop/db", `shop/${user.name}`]) {
      const { code, out, err } = await fixture().run("who", asked, "-o", "json");
      expect({ code, err }).toEqual({ code: 0, err: "" });
      const answer = { address: "10.0.0.7", owner: "claim shop/db.blue", vm: "shop/db", identity: `${uid}/blue` };
      expect(JSON.parse(out)).toMatchObject({ holds: [{ ...answer, users: [`shop/${user.name} on n1`] }] });
    }
    const { out } = await fixture().run("who", "10.0.0.7");
    expect(out).toContain("VM        shop/db, its network blue");
    expect(out).toContain(`used by   shop/${user.name} on n1`);
  });

  it("check finds a claim whose address nobody holds, and --repair holds it for the claim, not for its pod", async () => {
    const uid = await fixture().vm();
    const user = await fixture().start();
    const status = JSON.stringify([{ name: "shop/blue", interface: "net1", ips: ["10.0.0.7"] }]);
    const body = { metadata: { annotations: { "k8s.v1.cni.cncf.io/network-status": status } } };
    await fixture().client.patch(pods, { namespace: "shop", name: user.name }, { type: "merge", body });
    const { metadata } = await fixture().ours(uid, { ips: ["10.0.0.7/24"] });
    const found = await fixture().run("check", "-o", "json");
    const { findings } = JSON.parse(found.out) as { findings: { code: string }[] };
    expect({ exit: found.code, codes: findings.map(({ code }) => code) }).toEqual({
      exit: 1,
      codes: ["claim-without-hold"],
    });
    const repaired = await fixture().run("check", "--repair", "--observe-seconds", "0");
    expect(repaired.out).toContain("repaired: 10.0.0.7 is held for the claim now.");
    expect((await fixture().held()).map(({ hold }) => hold)).toMatchObject([
      { owner: { kind: "claim", uid: metadata.uid }, users: [user], note: { identity: `${uid}/blue` } },
    ]);
  });
}
