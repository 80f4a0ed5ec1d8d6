// Definitions in untrusted namespaces: their wishes never take from what others hand out, and their authors are told.
import { expect, it } from "vitest";

import { ipPools, namespaces, nodeSlicePools } from "../../../src/cluster/resources.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { type Fixture, moment, systemNamespace } from "../fixture.ts";
import { added, addMany, eventsOf } from "../steps.ts";

const patient = { timeout: 60_000 };

async function namespace(fixture: Fixture, name: string): Promise<string> {
  await fixture.admin.create(namespaces, { metadata: { name } }).catch((error: unknown) => {
    if (!isApiError(error, "already-exists")) throw error;
  });
  return name;
}

export function tenantStories(get: () => Fixture): void {
  it("10.0.0.0/8 to be sliced, without a name: refused, with an event and in the answer; who shares goes on", async () => {
    const fixture = get();
    const one = await fixture.define("one", { range: "10.113.0.0/24" });
    const two = await fixture.define("two", { range: "10.114.0.0/24" });
    for (const name of ["a", "b"]) await fixture.join(name);
    await fixture.ledAlone();
    await added(fixture, one, "a");
    const tenant = await namespace(fixture, "tenant");
    const mine = await fixture.define("mine", { range: "10.0.0.0/8", node_slice_size: "/24" }, tenant);
    await expect
      .poll(() => eventsOf(fixture, tenant, "mine"), patient)
      .toEqual([expect.stringMatching(/^NotTrusted: .*--trusted-namespaces/)]);
    await expect
      .poll(async () => (await fixture.tryAdd(await fixture.pod("a"), mine)).json, patient)
      .toMatchObject({ code: 101, msg: expect.stringContaining("--trusted-namespaces") });
    for (const node of ["a", "b"]) for (const network of [one, two]) await added(fixture, network, node);
    const { items } = await fixture.admin.list(nodeSlicePools);
    expect([items, await fixture.dangers()]).toEqual([[], []]);
  });

  it("a tenant who shared it first does not keep an administrator from cutting, and keeps what its pods hold", async () => {
    const fixture = get();
    const tenant = await namespace(fixture, "tenant");
    const network_name = "first";
    const mine = await fixture.define("mine", { range: "10.117.0.0/23", network_name }, tenant);
    for (const name of ["a", "b"]) await fixture.join(name);
    await fixture.ledAlone();
    await added(fixture, mine, "a");
    const theirs = await fixture.define("theirs", { range: "10.117.0.0/27", node_slice_size: "/28", network_name });
    for (const node of ["a", "b"]) await addMany(fixture, theirs, node, 14);
    expect(await fixture.dangers()).toEqual([]);
    expect(new Set(fixture.given.map(({ address }) => address)).size).toBe(29);
    expect(fixture.given[0]).toMatchObject({ address: "10.117.0.1" });
    // The rest of it is theirs as before.
    await added(fixture, mine, "b");
    await fixture.settle();
    expect(fixture.given.at(-1)?.address).toMatch(/^10\.117\.(0\.(3[2-9]|[4-9]\d|\d{3})|1\.\d+)$/);
  });

  it("in pools of their own namespace they may; what administrators cut serves them too", async () => {
    const fixture = get();
    const tenant = await namespace(fixture, "tenant");
    const ipam = { range: "10.115.0.0/24", node_slice_size: "/28", network_name: "cut" };
    const theirs = await fixture.define("theirs", ipam);
    const guest = await fixture.define("guest", { ...ipam, node_slice_size: "/25" }, tenant);
    const own = await fixture.define("own", { ...ipam, pool_namespace: "nad" }, tenant);
    await fixture.join("a");
    fixture.lead();
    for (const network of [theirs, guest]) await added(fixture, network, "a");
    await expect
      .poll(
        async () =>
          (await fixture.admin.list(nodeSlicePools)).items.map(({ metadata }) => metadata.namespace ?? "").toSorted(),
        patient,
      )
      .toEqual([systemNamespace, tenant]);
    const pool = await fixture.admin.get(nodeSlicePools, { namespace: systemNamespace, name: "cut" });
    expect(pool.spec.sliceSize).toBe("/28");
    expect(own.namespace).toBe(tenant);
  });

  it("256 ranges to be sliced: not one object is made, and the limit and its flag are named", async () => {
    const fixture = get();
    const ipRanges = Array.from({ length: 256 }, (_, index) => ({
      range: `10.116.${index}.0/24`,
      node_slice_size: "/28",
    }));
    await fixture.define("many", { ipRanges, network_name: "many" });
    await fixture.join("a");
    fixture.lead();
    await expect
      .poll(() => eventsOf(fixture, "default", "many"), patient)
      .toContainEqual(expect.stringContaining("--max-sliced-ranges-per-definition"));
    await moment();
    const { items } = await fixture.admin.list(ipPools, { labelSelector: "holdfast.io/slice" });
    expect([items, (await fixture.admin.list(nodeSlicePools)).items]).toEqual([[], []]);
  });
}
