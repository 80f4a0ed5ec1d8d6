// What users of whereabouts and KubeVirt ask for with VMs (500, 557, kubevirt 13709 of docs/complaints.md), on a cluster of a real leader,
// real daemons and a played KubeVirt.
import { expect } from "vitest";

import { drain, on } from "../claims/stories/draining.ts";
import { addressesOf } from "../claims/stories/sight.ts";
import { onEmbedded } from "../claims/stories/suite.ts";

onEmbedded("wishes of users with VMs", (tell) => {
  tell("500, 557: a VM keeps its address by its IPAMClaim, through restart, stop and start", async (world) => {
    await world.define("keeps", { range: `${world.net}.4.0/29` });
    const machine = await world.started("vm1", on("keeps"));
    const { addresses } = await world.look(machine);
    expect(addresses).toHaveLength(1);
    await world.kubevirt.restart(machine);
    expect((await world.is(machine, "BOUND")).addresses).toEqual(addresses);
    await world.kubevirt.stop(machine);
    // Nobody gets it while the VM is off.
    expect(await drain(world, "keeps")).not.toContain(addresses[0]);
    await world.kubevirt.start(machine);
    expect((await world.is(machine, "BOUND")).addresses).toEqual(addresses);
    expect((await world.claim("vm1.blue"))?.["status"]).toMatchObject({ ips: addressesOf(machine) });
  });

  tell(
    "kubevirt 13709: a live migration keeps the address, and no other VM gets it when the source's pod goes",
    async (world) => {
      await world.define("moves", { range: `${world.net}.5.0/29` });
      const machine = await world.started("vm1", on("moves"));
      const { addresses } = await world.look(machine);
      const migration = await world.kubevirt.migrate(machine);
      expect(await migration.handOver()).toBe(true);
      expect([...migration.target.attached.values()][0]!.addresses).toEqual(addressesOf(machine));
      await migration.succeed();
      expect((await world.is(machine, "BOUND")).addresses).toEqual(addresses);
      expect(await drain(world, "moves")).not.toContain(addresses[0]);
      expect((await world.look(machine)).addresses).toEqual(addresses);
    },
  );
});
