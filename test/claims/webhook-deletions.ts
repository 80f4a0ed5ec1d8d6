// Claims that somebody deletes: refused while the NIC of a living VM has them, and never where something ends.
import { describe, expect, test } from "vitest";

import { overrideAnnotation } from "../../src/api/claims/claim-marks.ts";
import { ipamClaims, namespaces, type StoredClaim } from "../../src/cluster/resources.ts";
import { until } from "../lab/wait.ts";
import { unplug } from "./kubevirt/hotplug.ts";
import { scenes } from "./webhook-cases.ts";
import { claimOf, type Fixture } from "./webhook-fixture.ts";

export function deletionStories(open: () => Fixture): void {
  const { machineOn, claimFor, nameOf, letGo, isGone } = scenes(open);
  describe("deleting claims", () => {
    const remove = (who: "tenant" | "admin", claim: StoredClaim) =>
      open().server[who].delete(ipamClaims, nameOf(claim));

    test("of a VM that lives, running or stopped: refused; where its NIC has gone: not", async () => {
      const namespace = await open().namespace();
      const machine = await machineOn(namespace, ["a=blue", "b=green"]);
      const claim = await claimFor(machine, "a");
      await expect(remove("tenant", claim)).rejects.toThrow(`VirtualMachine ${namespace}/vm1 (network a)`);
      await open().kubevirt.stop(machine);
      await expect(remove("admin", claim)).rejects.toThrow("network a");
      await expect(open().server.tenant.deleteCollection(ipamClaims, { namespace })).rejects.toThrow("network a");
      await unplug(open().kubevirt, machine, "a", "in place");
      await remove("tenant", claim);
      await letGo(claim);
      expect(await isGone(claim)).toBe(true);
    });

    test("whoever may override says why on the claim, and then deletes it", async () => {
      const namespace = await open().namespace();
      const machine = await machineOn(namespace, ["a=blue"]);
      const claim = await claimFor(machine, "a");
      const say = (text: string) =>
        open().server.tenant.patch(ipamClaims, nameOf(claim), {
          type: "merge",
          body: { metadata: { annotations: { [overrideAnnotation]: text } } },
        });
      await say("something else");
      await expect(remove("admin", claim)).rejects.toThrow("network a");
      await say("delete: a test");
      if (open().server.hasRights) await expect(remove("tenant", claim)).rejects.toThrow("network a");
      await remove("admin", claim);
      await letGo(claim);
    });

    test.each(["Background", "Foreground"] as const)(
      "garbage collection after a VM's end is not refused: %s",
      async (policy) => {
        const namespace = await open().namespace();
        const machine = await machineOn(namespace, ["a=blue"]);
        const claim = await claimFor(machine, "a");
        const ended = open().kubevirt.delete(machine, policy);
        await until(async () => (await open().claim(namespace, "vm1.a")).metadata.deletionTimestamp !== undefined, {
          what: "the claim being deleted",
        });
        await letGo(claim);
        await ended;
        await until(() => isGone(claim), { what: "the claim gone" });
      },
    );

    test("the end of a namespace is not refused while its VM stands", async () => {
      const namespace = await open().namespace();
      const machine = await machineOn(namespace, ["a=blue"]);
      const claim = await claimFor(machine, "a");
      // Pods end first, and the rest is deleted when they have: there is no kubelet here to end one.
      await open().kubevirt.stop(machine);
      await open().server.admin.delete(namespaces, { name: namespace });
      await until(async () => (await open().claim(namespace, "vm1.a")).metadata.deletionTimestamp !== undefined, {
        what: "the claim being deleted with its namespace",
      });
      await letGo(claim);
      await until(() => isGone(claim), { what: "the claim gone" });
    });

    test("made by hand: its owner's to delete", async () => {
      const namespace = await open().namespace();
      const made = await open().server.tenant.create(ipamClaims, claimOf(namespace, "hand", `blue-${namespace}`));
      await remove("tenant", made);
      expect(await isGone(made)).toBe(true);
    });
  });
}
