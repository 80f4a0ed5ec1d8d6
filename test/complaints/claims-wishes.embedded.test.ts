// What users of whereabouts and KubeVirt ask for with VMs (500, 557, kubevirt 13709 of docs/complaints.md), on a
// cluster of a real leader, real daemons and a played KubeVirt.
import { expect } from "vitest";

import { drain, on } from "../claims/stories/draining.ts";
import { addressesOf } from "../claims/stories/sight.ts";
import { onEmbedded } from "../claims/stories/suite.ts";

onEmbedded("wishes of users with VMs", (tell) => {
  tell("500, 557: a VM keeps its address by its IPAMClaim, through restart, stop and start", async (fixture) => {
    await fixture.define("keeps", { range: `${fixture.net}.4.0/29` });
    const machine = await fixture.started("vm1", on("keeps"));
    const { addresses } = await fixture.look(machine);
    expect(addresses).toHaveLength(1);
    await fixture.kubevirt.restart(machine);
    expect((await fixture.is(machine, "BOUND")).addresses).toEqual(addresses);
    await fixture.kubevirt.stop(machine);
    // Nobody gets it while the VM is off.
    expect(await drain(fixture, "keeps")).not.toContain(addresses[0]);
    await fixture.kubevirt.start(machine);
    expect((await fixture.is(machine, "BOUND")).addresses).toEqual(addresses);
    expect((await fixture.claim("vm1.blue"))?.["status"]).toMatchObject({ ips: addressesOf(machine) });
  });

  tell(
    "kubevirt 13709: a live migration keeps the address, and no other VM gets it when the source's pod goes",
    async (fixture) => {
      await fixture.define("moves", { range: `${fixture.net}.5.0/29` });
      const machine = await fixture.started("vm1", on("moves"));
      const { addresses } = await fixture.look(machine);
      const migration = await fixture.kubevirt.migrate(machine);
      expect(await migration.handOver()).toBe(true);
      expect([...migration.target.attached.values()][0]!.addresses).toEqual(addressesOf(machine));
      await migration.succeed();
      expect((await fixture.is(machine, "BOUND")).addresses).toEqual(addresses);
      expect(await drain(fixture, "moves")).not.toContain(addresses[0]);
      expect((await fixture.look(machine)).addresses).toEqual(addresses);
    },
  );
});
