// The hazards of OVN-Kubernetes with claims (h1 to h4 of docs/complaints.md), each shown not to happen here, on a
// cluster of a real leader, real daemons and a played KubeVirt.
import { expect } from "vitest";

import { claims } from "../claims/claim-objects.ts";
import { remove } from "../claims/kubevirt/edit.ts";
import { bare, drain, on } from "../claims/stories/draining.ts";
import { addressesOf, conditionOf } from "../claims/stories/sight.ts";
import { onEmbedded } from "../claims/stories/suite.ts";
import { userPod } from "../claims/stories/user-pod.ts";
import { until } from "../lab/wait.ts";

onEmbedded("OVN-Kubernetes' hazards", (tell) => {
  tell(
    "h1: a write after the commit fails: the address stays the claim's, and no other VM gets it",
    async (fixture) => {
      await fixture.define("tight", { range: `${fixture.net}.4.0/29` });
      const machine = await fixture.machine("vm1", on("tight"));
      await fixture.is(machine, "PEND");
      // The claim's status is what follows the hold; the node is cut off with it.
      fixture.loses = ({ path }) => path.includes("/ipamclaims/") && path.includes("/status");
      const starting = fixture.kubevirt.start(machine);
      await until(async () => fixture.node(1).line.isCut, { what: "the failure" });
      const { addresses } = await fixture.look(machine);
      expect(addresses).toHaveLength(1);
      fixture.node(1).isReady = false;
      expect(await drain(fixture, "tight")).not.toContain(addresses[0]);
      fixture.node(1).isReady = true;
      await fixture.nodes.kill(fixture.node(1));
      await fixture.nodes.revive(fixture.node(1));
      await starting;
      expect((await fixture.is(machine, "BOUND")).addresses).toEqual(addresses);
    },
  );

  tell("h2: an address that was excluded while a claim had it is not given when the claim goes", async (fixture) => {
    const subnets = `${fixture.net}.5.0/29`;
    await fixture.define("over", {}, { type: "ovs", topology: "layer2", subnets });
    const machine = await fixture.started("vm1", on("over"));
    const [address = ""] = (await fixture.look(machine)).addresses;
    await fixture.redefine("over", (config) => void (config["excludeSubnets"] = `${address}/32`));
    expect((await fixture.look(machine)).state).toBe("BOUND");
    await fixture.kubevirt.delete(machine);
    await fixture.is(machine, "NONE");
    const given = await drain(fixture, "over");
    expect(given.length).toBeGreaterThan(2);
    expect(given).not.toContain(address);
  });

  tell("h3: of two families none is left unreserved by a restart, or half reserved by a refusal", async (fixture) => {
    const six = "fd00:9::";
    const ipRanges = [{ range: `${fixture.net}.6.0/28` }, { range: `${six}/124` }];
    await fixture.define("both", { ipRanges });
    const machine = await fixture.started("vm1", on("both"));
    const before = await fixture.look(machine);
    expect(before.addresses).toHaveLength(2);
    // One that asks for the IPv4 address of another, and for an IPv6 address that is free.
    const four = before.addresses.find((each) => !each.includes(":")) ?? "";
    const annotations = { "network.kubevirt.io/addresses": JSON.stringify({ blue: [four, `${six}e`] }) };
    const rival = await fixture.machine("vm2", { ...on("both"), annotations });
    const starting = fixture.kubevirt.start(rival);
    await fixture.claimIs("vm2.blue", "in conflict", (claim) => conditionOf(claim) === "False IPAddressConflict");
    await fixture.kubevirt.delete(rival);
    await starting;
    await fixture.is(rival, "NONE");
    expect(await fixture.held(`${six}e`)).toBe(false);
    await fixture.killLeader();
    for (const node of fixture.nodes.all) {
      await fixture.nodes.kill(node);
      await fixture.nodes.revive(node);
    }
    await fixture.lead();
    const others = [await fixture.started("vm3", on("both")), await fixture.started("vm4", on("both"))];
    const given = bare(others.flatMap(addressesOf));
    expect(given).toHaveLength(4);
    for (const each of before.addresses) expect(given).not.toContain(each);
    expect(await fixture.look(machine)).toMatchObject({ state: "BOUND", addresses: before.addresses });
  });

  tell(
    "h4: a second claim that shows the same address does not have it, and frees nothing when it goes",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const first = await fixture.claimIs(
        "vm1.blue",
        "shown",
        (each) => conditionOf(each) === "True SuccessfulAllocation",
      );
      const [address = ""] = (await fixture.look(machine)).addresses;
      const copy = { namespace: fixture.namespace, name: "copy" };
      await fixture.admin.create(claims, { metadata: { ...copy }, spec: first["spec"] });
      const ips = { ips: [`${address}/26`] };
      const patch = { type: "merge", body: { status: ips } } as const;
      fixture.forgives("foreign status");
      await fixture.admin.patch(claims, copy, patch, { subresource: "status" });
      const pod = await userPod(fixture, { "ipam-claim-reference": "copy" });
      const running = fixture.kubevirt.virt.kubelet.run(pod);
      await until(async () => fixture.refusals.some((each) => each.includes(address)), { what: "the refusal" });
      await fixture.kubevirt.virt.kubelet.finish(pod);
      expect(await running).toBe(false);
      await remove(fixture.admin, claims, copy);
      await until(async () => (await fixture.claim("copy")) === undefined, { what: "the copy to go" });
      await fixture.started("round");
      expect(await fixture.look(machine)).toMatchObject({ state: "BOUND", addresses: [address] });
    },
  );
});
