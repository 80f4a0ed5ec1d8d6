// The hazards of OVN-Kubernetes with claims (h1 to h4 of docs/complaints.md), each shown not to happen here, on a cluster of a real leader, real
// daemons and a played KubeVirt.
import { expect } from "vitest";

import { claims } from "../claims/claim-objects.ts";
import { remove } from "../claims/kubevirt/edit.ts";
import { bare, drain, on } from "../claims/stories/draining.ts";
import { addressesOf, conditionOf } from "../claims/stories/sight.ts";
import { onEmbedded } from "../claims/stories/suite.ts";
import { userPod } from "../claims/stories/user-pod.ts";
import { until } from "../lab/wait.ts";

onEmbedded("OVN-Kubernetes' hazards", (tell) => {
  tell("h1: a write after the commit fails: the address stays the claim's, and no other VM gets it", async (world) => {
    await world.define("tight", { range: `${world.net}.4.0/29` });
    const machine = await world.machine("vm1", on("tight"));
    await world.is(machine, "PEND");
    // The claim's status is what follows the hold; the node is cut off with it.
    world.loses = ({ path }) => path.includes("/ipamclaims/") && path.includes("/status");
    const starting = world.kubevirt.start(machine);
    await until(async () => world.node(1).line.isCut, { what: "the failure" });
    const { addresses } = await world.look(machine);
    expect(addresses).toHaveLength(1);
    world.node(1).isReady = false;
    expect(await drain(world, "tight")).not.toContain(addresses[0]);
    world.node(1).isReady = true;
    await world.nodes.kill(world.node(1));
    await world.nodes.revive(world.node(1));
    await starting;
    expect((await world.is(machine, "BOUND")).addresses).toEqual(addresses);
  });

  tell("h2: an address that was excluded while a claim had it is not given when the claim goes", async (world) => {
    const subnets = `${world.net}.5.0/29`;
    await world.define("over", {}, { type: "ovn-k8s-cni-overlay", topology: "layer2", subnets });
    const machine = await world.started("vm1", on("over"));
    const [address = ""] = (await world.look(machine)).addresses;
    await world.redefine("over", (config) => void (config["excludeSubnets"] = `${address}/32`));
    expect((await world.look(machine)).state).toBe("BOUND");
    await world.kubevirt.delete(machine);
    await world.is(machine, "NONE");
    const given = await drain(world, "over");
    expect(given.length).toBeGreaterThan(2);
    expect(given).not.toContain(address);
  });

  tell("h3: of two families none is left unreserved by a restart, or half reserved by a refusal", async (world) => {
    const six = "fd00:9::";
    const ipRanges = [{ range: `${world.net}.6.0/28` }, { range: `${six}/124` }];
    await world.define("both", { ipRanges });
    const machine = await world.started("vm1", on("both"));
    const before = await world.look(machine);
    expect(before.addresses).toHaveLength(2);
    // One that asks for the IPv4 address of another, and for an IPv6 address that is free.
    const four = before.addresses.find((each) => !each.includes(":")) ?? "";
    const annotations = { "network.kubevirt.io/addresses": JSON.stringify({ blue: [four, `${six}e`] }) };
    const rival = await world.machine("vm2", { ...on("both"), annotations });
    const starting = world.kubevirt.start(rival);
    await world.claimIs("vm2.blue", "in conflict", (claim) => conditionOf(claim) === "False IPAddressConflict");
    await world.kubevirt.delete(rival);
    await starting;
    await world.is(rival, "NONE");
    expect(await world.held(`${six}e`)).toBe(false);
    await world.killLeader();
    for (const node of world.nodes.all) {
      await world.nodes.kill(node);
      await world.nodes.revive(node);
    }
    await world.lead();
    const others = [await world.started("vm3", on("both")), await world.started("vm4", on("both"))];
    const given = bare(others.flatMap(addressesOf));
    expect(given).toHaveLength(4);
    for (const each of before.addresses) expect(given).not.toContain(each);
    expect(await world.look(machine)).toMatchObject({ state: "BOUND", addresses: before.addresses });
  });

  tell(
    "h4: a second claim that shows the same address does not have it, and frees nothing when it goes",
    async (world) => {
      const machine = await world.started("vm1");
      const first = await world.claimIs(
        "vm1.blue",
        "shown",
        (each) => conditionOf(each) === "True SuccessfulAllocation",
      );
      const [address = ""] = (await world.look(machine)).addresses;
      const copy = { namespace: world.namespace, name: "copy" };
      await world.admin.create(claims, { metadata: { ...copy }, spec: first["spec"] });
      const ips = { ips: [`${address}/26`] };
      const patch = { type: "merge", body: { status: ips } } as const;
      world.forgives("foreign status");
      await world.admin.patch(claims, copy, patch, { subresource: "status" });
      const pod = await userPod(world, { "ipam-claim-reference": "copy" });
      const running = world.kubevirt.virt.kubelet.run(pod);
      await until(async () => world.refusals.some((each) => each.includes(address)), { what: "the refusal" });
      await world.kubevirt.virt.kubelet.finish(pod);
      expect(await running).toBe(false);
      await remove(world.admin, claims, copy);
      await until(async () => (await world.claim("copy")) === undefined, { what: "the copy to go" });
      await world.started("round");
      expect(await world.look(machine)).toMatchObject({ state: "BOUND", addresses: [address] });
    },
  );
});
