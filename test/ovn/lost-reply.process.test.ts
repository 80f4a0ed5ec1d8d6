// A reply that does not come: the server is killed between transaction and reply, or before the transaction. Every row
// is there once in the end.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { desiredOf } from "../../src/ovn/desired.ts";
import { meddlingDial } from "../ovsdb/meddling.ts";
import { Central } from "./central.ts";
import { writerOf } from "./running.ts";
import { vmAt, zoneOf } from "./zones.ts";

let central: Central;
beforeAll(async () => {
  central = await Central.start([]);
});
afterAll(async () => {
  await central?.[Symbol.asyncDispose]();
});

const all = { topology: true, vms: "all" } as const;

describe("ovsdb-server is killed", () => {
  it.each(["before it has the transaction", "after it has done it"])("%s", async (when) => {
    let restarted: Promise<void> | undefined;
    let transactId: unknown;
    const restart = () => {
      restarted = central.killServer().then(() => central.startServer());
      return "cut" as const;
    };
    const dial = meddlingDial({
      sent: ({ method, id }) => {
        if (method !== "transact" || restarted !== undefined) return "pass";
        transactId = id;
        return when.startsWith("before") ? restart() : "pass";
      },
      received: ({ method, id }) =>
        restarted === undefined && method === undefined && transactId !== undefined && id === transactId
          ? restart()
          : "pass",
    });
    await using writer = await writerOf(central, { dial });
    // Others' VMs each time, so that there is something to write.
    const vm = vmAt(["vl-a@n2"], "vl-a@n2", { name: when.slice(0, 5) });
    const desired = desiredOf(zoneOf(), [vm], all);
    const applied = await writer.northbound.apply(desired, AbortSignal.timeout(60_000));
    await restarted;
    expect(restarted).toBeDefined();
    expect(writer.northbound.plan(desired).operations).toEqual([]);
    expect(applied.transactions).toBe(when.startsWith("before") ? 2 : 1);

    await using fresh = await writerOf(central);
    expect(fresh.northbound.plan(desired).operations).toEqual([]);
    const found = async (table: string, ...where: string[]) =>
      (await central.nbctl("--bare", "--columns=_uuid", "find", table, ...where)).split("\n").filter(Boolean);
    expect(await found("Logical_Router_Static_Route", "ip_prefix=10.244.0.4")).toHaveLength(1);
    expect(await found("Logical_Router", "name=ovn_cluster_router")).toHaveLength(1);
    expect(await found("DHCP_Options")).toHaveLength(2);
  });

  it("two writers at once make every row once", async () => {
    await using one = await writerOf(central);
    await using other = await writerOf(central);
    const desired = desiredOf(zoneOf(), [vmAt(["vl-x@n3"], "vl-x@n3", { name: "raced" })], all);
    const both = [one, other].map(({ northbound }) => northbound.apply(desired, AbortSignal.timeout(60_000)));
    await Promise.all(both);
    // No chassis is there to be waited for.
    await Promise.all([
      one.northbound.barrier("sb", AbortSignal.timeout(60_000)),
      other.northbound.barrier("hv", AbortSignal.timeout(60_000)),
    ]);
    expect(Number(await central.nbctl("--bare", "--columns=sb_cfg", "list", "NB_Global"))).toBeGreaterThanOrEqual(2);
    await using fresh = await writerOf(central);
    expect(fresh.northbound.plan(desired).operations).toEqual([]);
  });
});
