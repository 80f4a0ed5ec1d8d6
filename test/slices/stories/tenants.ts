// Definitions of namespaces that nobody trusts with the whole cluster: what they ask for never takes from what others hand out, and they are told.
import { expect, it } from "vitest";

import { ipPools, namespaces, nodeSlicePools } from "../../../src/cluster/resources.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { type Fleet, moment, systemNamespace } from "../fleet.ts";
import { added, eventsOf } from "../scenes.ts";

const patient = { timeout: 60_000 };

async function namespace(fleet: Fleet, name: string): Promise<string> {
  await fleet.admin.create(namespaces, { metadata: { name } }).catch((error: unknown) => {
    if (!isApiError(error, "already-exists")) throw error;
  });
  return name;
}

export function tenantStories(get: () => Fleet): void {
  it("10.0.0.0/8 to be sliced, without a name: refused, with an event and in the answer; who shares goes on", async () => {
    const fleet = get();
    const one = await fleet.define("one", { range: "10.113.0.0/24" });
    const two = await fleet.define("two", { range: "10.114.0.0/24" });
    for (const name of ["a", "b"]) await fleet.join(name);
    await fleet.ledAlone();
    await added(fleet, one, "a");
    const tenant = await namespace(fleet, "tenant");
    const mine = await fleet.define("mine", { range: "10.0.0.0/8", node_slice_size: "/24" }, tenant);
    await expect
      .poll(() => eventsOf(fleet, tenant, "mine"), patient)
      .toEqual([expect.stringMatching(/^NotTrusted: .*--trusted-namespaces/)]);
    await expect
      .poll(async () => (await fleet.tryAdd(await fleet.pod("a"), mine)).json, patient)
      .toMatchObject({ code: 101, msg: expect.stringContaining("--trusted-namespaces") });
    for (const node of ["a", "b"]) for (const network of [one, two]) await added(fleet, network, node);
    const { items } = await fleet.admin.list(nodeSlicePools);
    expect([items, await fleet.dangers()]).toEqual([[], []]);
  });

  it("in pools of their own namespace they may; what administrators cut serves them too", async () => {
    const fleet = get();
    const tenant = await namespace(fleet, "tenant");
    const ipam = { range: "10.115.0.0/24", node_slice_size: "/28", network_name: "cut" };
    const theirs = await fleet.define("theirs", ipam);
    const guest = await fleet.define("guest", { ...ipam, node_slice_size: "/25" }, tenant);
    const own = await fleet.define("own", { ...ipam, pool_namespace: "nad" }, tenant);
    await fleet.join("a");
    fleet.lead();
    for (const network of [theirs, guest]) await added(fleet, network, "a");
    await expect
      .poll(
        async () =>
          (await fleet.admin.list(nodeSlicePools)).items.map(({ metadata }) => metadata.namespace ?? "").toSorted(),
        patient,
      )
      .toEqual([systemNamespace, tenant]);
    const pool = await fleet.admin.get(nodeSlicePools, { namespace: systemNamespace, name: "cut" });
    expect(pool.spec.sliceSize).toBe("/28");
    expect(own.namespace).toBe(tenant);
  });

  it("256 ranges to be sliced: not one object is made, and the limit and its flag are named", async () => {
    const fleet = get();
    const ipRanges = Array.from({ length: 256 }, (_, index) => ({
      range: `10.116.${index}.0/24`,
      node_slice_size: "/28",
    }));
    await fleet.define("many", { ipRanges, network_name: "many" });
    await fleet.join("a");
    fleet.lead();
    await expect
      .poll(() => eventsOf(fleet, "default", "many"), patient)
      .toContainEqual(expect.stringContaining("--max-sliced-ranges-per-definition"));
    await moment();
    const { items } = await fleet.admin.list(ipPools, { labelSelector: "holdfast.io/slice" });
    expect([items, (await fleet.admin.list(nodeSlicePools)).items]).toEqual([[], []]);
  });
}
