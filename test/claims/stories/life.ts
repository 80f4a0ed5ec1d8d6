// Rows of the state machine: a VM appears, its pods come and go. Each story is named by its row.
import { expect } from "vitest";

import { until } from "../../lab/wait.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";

export function appearing(tell: Tell): void {
  tell("VM or VMI appears / NONE: a claim with the owner's UID and a finalizer, PEND", async (fixture) => {
    const at = { namespace: fixture.namespace, name: "vm1" };
    expect((await fixture.look(at)).state).toBe("NONE");
    const machine = await fixture.machine("vm1");
    const { claim } = await fixture.is(machine, "PEND");
    expect(claim).toMatchObject({
      metadata: {
        name: "vm1.blue",
        namespace: fixture.namespace,
        finalizers: ["holdfast.io/persistent-ip"],
        annotations: { "holdfast.io/claim-owner": machine.vmUid, "holdfast.io/claim-nic": "blue" },
        ownerReferences: [{ kind: "VirtualMachine", name: "vm1", uid: machine.vmUid }],
      },
      spec: { network: `${fixture.namespace}-blue` },
    });
  });

  tell("VMI without a VM / NONE: its own UID is the owner, PEND, then BOUND", async (fixture) => {
    let seen = "";
    fixture.at("VMI made", async () => {
      const at = { namespace: fixture.namespace, name: "lone" };
      seen = (await fixture.is(at, "PEND")).claim?.metadata.annotations?.["holdfast.io/claim-owner"] ?? "";
    });
    const machine = fixture.keep(await fixture.kubevirt.createAlone(fixture.spec("lone")));
    expect(seen).toBe(machine.instance!.uid);
    const { claim } = await fixture.is(machine, "BOUND");
    expect(claim?.metadata.ownerReferences).toMatchObject([{ kind: "VirtualMachineInstance", uid: seen }]);
  });
}

export function attaching(tell: Tell): void {
  tell(
    "pod attaches / PEND: the hold is the commit point, BOUND with the same address after a lost answer",
    async (fixture) => {
      const machine = await fixture.machine("vm1");
      await fixture.is(machine, "PEND");
      // The node is cut off when the hold is written, before it hears of it: nothing takes that back.
      fixture.loses = ({ method, path }) => method === "POST" && path.includes("overlappingrangeipreservations");
      const starting = fixture.kubevirt.start(machine);
      const [address] = (await fixture.is(machine, "RSVD")).addresses;
      expect(fixture.node(1).line.isCut).toBe(true);
      await fixture.nodes.kill(fixture.node(1));
      await fixture.nodes.revive(fixture.node(1));
      expect(await starting).toBe(true);
      const { claim, addresses } = await fixture.is(machine, "BOUND");
      expect(addresses).toEqual([address]);
      expect(addressesOf(machine)).toEqual([`${address}/26`]);
      expect(claim?.metadata.name).toBe("vm1.blue");
      const shown = await fixture.claimIs("vm1.blue", "shows it", (each) => each["status"] !== undefined);
      expect(shown["status"]).toMatchObject({
        ips: [`${address}/26`],
        ownerPod: { name: machine.instance!.active.name },
        conditions: [{ type: "IPsAllocated", status: "True", reason: "SuccessfulAllocation" }],
      });
    },
  );

  tell("pod attaches / RSVD: the same address, BOUND, whoever came meanwhile", async (fixture) => {
    const machine = await fixture.started("vm1");
    const first = addressesOf(machine);
    await fixture.kubevirt.stop(machine);
    await fixture.is(machine, "RSVD");
    const others = [await fixture.started("vm2"), await fixture.started("vm3")];
    expect(await fixture.kubevirt.start(machine)).toBe(true);
    await fixture.is(machine, "BOUND");
    expect(addressesOf(machine)).toEqual(first);
    for (const each of others) expect(addressesOf(each)).not.toEqual(first);
  });

  tell("last pod ends / BOUND: kept, RSVD, after a stop and after a crash", async (fixture) => {
    const machine = await fixture.started("vm1");
    const first = addressesOf(machine);
    const lone = fixture.keep(await fixture.kubevirt.createAlone(fixture.spec("lone")));
    await fixture.is(lone, "BOUND");
    await fixture.kubevirt.stop(machine);
    await fixture.kubevirt.powerOff(lone);
    await fixture.is(machine, "RSVD");
    await fixture.is(lone, "RSVD");
    expect(await fixture.kubevirt.start(machine)).toBe(true);
    expect(await fixture.kubevirt.crash(machine)).toBe(true);
    await fixture.is(machine, "BOUND");
    expect(addressesOf(machine)).toEqual(first);
  });

  tell(
    "pod force-deleted / BOUND: the new pod's ADD comes before the old one's DEL, the same address, BOUND",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const first = addressesOf(machine);
      const old = machine.instance!.active;
      expect(await fixture.kubevirt.forcePod(machine)).toBe(true);
      const { addresses, claim } = await fixture.is(machine, "BOUND");
      expect(machine.instance!.active.node).toBe(old.node);
      expect(addressesOf(machine)).toEqual(first);
      // Once more, late and of a sandbox that nobody knows any more.
      const element = { name: "blue", namespace: fixture.namespace, interface: "pod16477688c0e" };
      expect((await fixture.nodes.ask("DEL", old.port(element))).status).toBe(0);
      expect(await fixture.look(machine)).toMatchObject({ state: "BOUND", addresses });
      expect((await fixture.claim("vm1.blue"))?.metadata.uid).toBe(claim?.metadata.uid);
    },
  );
}

export function migrating(tell: Tell): void {
  tell("2nd launcher, same owner UID / BOUND: shares the address, MIGR", async (fixture) => {
    const machine = await fixture.started("vm1");
    const source = machine.instance!.active;
    const migration = await fixture.kubevirt.migrate(machine);
    expect(await migration.handOver()).toBe(true);
    await fixture.is(machine, "MIGR");
    expect(migration.target.node).not.toBe(source.node);
    expect([...migration.target.attached.values()][0]!.addresses).toEqual(addressesOf(machine));
    const { status } = await fixture.claimIs("vm1.blue", "shown", (each) => each["status"] !== undefined);
    expect(status).toMatchObject({ ownerPod: { name: source.name } });
    await migration.succeed();
    await fixture.is(machine, "BOUND");
  });

  tell("3rd launcher / MIGR: refused loudly, let in when one of the two has ended, MIGR", async (fixture) => {
    const machine = await fixture.started("vm1");
    const first = await fixture.kubevirt.migrate(machine);
    expect(await first.handOver()).toBe(true);
    await fixture.is(machine, "MIGR");
    // KubeVirt would not: two migrations at once.
    const second = await fixture.kubevirt.migrate(machine, { node: fixture.node(3).name });
    const running = second.handOver();
    const isSaid = async () => fixture.refusals.some((each) => /^101 .*vm1\.blue/.test(each));
    await until(isSaid, { what: "the refusal" });
    expect((await fixture.look(machine)).state).toBe("MIGR");
    // The target's dead node sends no DEL, and no leader clears the list of users: the pod's phase counts.
    await fixture.killLeader();
    fixture.teardown = "lost";
    await first.fail();
    fixture.teardown = "prompt";
    expect(await running).toBe(true);
    await fixture.lead();
    await fixture.is(machine, "MIGR");
    await second.succeed();
    await fixture.is(machine, "BOUND");
  });

  tell("source or target pod ends / MIGR: only that attachment is dropped, BOUND", async (fixture) => {
    const machine = await fixture.started("vm1");
    const first = addressesOf(machine);
    for (const end of ["exits", "is deleted", "is forced"] as const) {
      const failing = await fixture.kubevirt.migrate(machine);
      await failing.handOver();
      await fixture.is(machine, "MIGR");
      await failing.fail(end);
      await fixture.is(machine, "BOUND");
    }
    const source = machine.instance!.active;
    const migration = await fixture.kubevirt.migrate(machine);
    await migration.handOver();
    await migration.succeed();
    await fixture.is(machine, "BOUND");
    // Its object stays, Succeeded.
    expect(source.phase).toBe("Succeeded");
    expect(addressesOf(machine)).toEqual(first);
    await fixture.claimIs("vm1.blue", "names the target", ({ status }) => {
      const { ownerPod } = status as { ownerPod?: { name: string } };
      return ownerPod?.name === migration.target.name;
    });
  });
}
