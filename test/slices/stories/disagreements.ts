// Definitions of one range that disagree on enable_overlapping_ranges: there is one arbiter for all of them, whichever
// is first, also while the range becomes sliced or shared. A pod may be refused; it is never given what another has.
import { expect, it } from "vitest";

import { configMaps, ipPools, namespaces } from "../../../src/cluster/resources.ts";
import { readSlicedRanges } from "../../../src/cluster/sliced-ranges.ts";
import { stateName } from "../../../src/cluster/state.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { until } from "../../lab/wait.ts";
import type { Told } from "../../node/shim.ts";
import { volume } from "../../volume.ts";
import { type Fixture, moment, type Network, systemNamespace } from "../fixture.ts";

const patient = { timeout: 60_000 };
const apart = { enable_overlapping_ranges: false };

interface Side {
  readonly namespace: string;
  readonly more: object;
}

const says = {
  true: { namespace: "default", more: {} },
  false: { namespace: "default", more: apart },
  "a tenant's true": { namespace: "tenant", more: {} },
  "a tenant's false": { namespace: "tenant", more: apart },
} as const satisfies Record<string, Side>;
type Saying = keyof typeof says;

const some: readonly (readonly [Saying, Saying])[] = [
  ["true", "false"],
  ["false", "true"],
  ["a tenant's true", "false"],
];
const pairs = volume(some, [
  ...some,
  ["false", "a tenant's true"],
  ["true", "a tenant's false"],
  ["false", "a tenant's false"],
]);

export function disagreementStories(get: () => Fixture): void {
  /** The older first, a definition each; only administrators ask for slices. */
  async function define(ipam: object, pair: readonly Saying[], slices: object): Promise<Network[]> {
    const defined: Network[] = [];
    for (const [index, saying] of pair.entries()) {
      const { namespace, more } = says[saying];
      await get()
        .admin.create(namespaces, { metadata: { name: namespace } })
        .catch((error: unknown) => {
          if (!isApiError(error, "already-exists")) throw error;
        });
      const own = namespace === "tenant" ? {} : slices;
      defined.push(await get().define(`d${index}`, { ...ipam, ...more, ...own }, namespace));
    }
    return defined;
  }

  async function ask(network: Network, node: string, asked?: string): Promise<Told> {
    const guest = await get().pod(node, "pod", network);
    if (asked === undefined) return get().tryAdd(guest, network);
    const more = { capabilities: { ips: true }, runtimeConfig: { ips: [asked] } };
    return get().tryAdd(guest, { ...network, config: { ...network.config, ...more } });
  }

  /** Until the floating part is told, it may be in no slice of this node. */
  function askPart(network: Network, node: string, asked: string): Promise<Told> {
    const isTold = async () => {
      const told = await ask(network, node, asked);
      return JSON.stringify(told.json).includes("floating_slice_size") ? undefined : told;
    };
    return until(isTold, { what: "the floating part", timeoutMs: 60_000 });
  }

  /** As its definition is when it is shared again. */
  function asShared({ config, ...network }: Network): Network {
    const { ipam } = config as { readonly ipam: object };
    const plain = { ...ipam, node_slice_size: undefined, floating_slice_size: undefined };
    return { ...network, config: { ...config, ipam: plain } };
  }

  const addressOf = ({ json }: Told): string => String(json.ips[0].address).split("/")[0]!;

  async function given(network: Network, node: string): Promise<void> {
    await get().add(await get().pod(node, "pod", network), network);
  }

  /** Everything that is left, by all of them in turns; and what others have, by number. */
  async function fill(networks: readonly Network[], nodes: readonly string[]): Promise<void> {
    const fixture = get();
    const before = fixture.given.map(({ address }) => address);
    for (const network of networks) {
      for (const [index, address] of before.entries()) await ask(network, nodes[index % nodes.length]!, address);
    }
    const open = new Set(networks);
    while (open.size > 0) {
      for (const network of open) {
        for (const node of nodes) if ((await ask(network, node)).status !== 0) open.delete(network);
      }
    }
    expect(await fixture.dangers()).toEqual([]);
    const all = fixture.given.map(({ address }) => address).toSorted();
    expect(all.length).toBeGreaterThan(before.length);
    expect(all).toEqual([...new Set(all)].toSorted());
  }

  const isLeft = async (...nodes: string[]) => {
    const left = async () => (await get().books()).slices.map(({ node }) => node);
    await expect.poll(left, patient).toEqual(nodes);
  };

  it.each(pairs)(
    "%s and %s, back to shared: who takes from the shared pool sees what is moved later",
    async (...pair) => {
      const fixture = get();
      const ipam = { range: "10.118.0.0/27", network_name: "mixed" };
      const networks = await define(ipam, pair, { node_slice_size: "/29" });
      await fixture.join("a");
      const { line } = await fixture.join("b");
      fixture.lead();
      for (const network of networks) for (const node of ["a", "b", "b"]) await given(network, node);
      await fixture.settle();
      line.cut();
      for (const [index, network] of networks.entries())
        await fixture.redefine(network, { ...ipam, ...says[pair[index]!].more });
      await isLeft("b");
      const shared = networks.map(asShared);
      // The later one asks first: node a has the rest of the range.
      for (const network of shared.toReversed()) for (let round = 0; round < 3; round++) await ask(network, "a");
      line.heal();
      await isLeft();
      await fill(shared, ["a", "b"]);
    },
  );

  const floating = { range: "10.119.0.0/25", network_name: "part" };
  const part = { node_slice_size: "/28", floating_slice_size: "/28" };

  it.each(pairs)(
    "%s and %s: one address of the floating part is given once, and so when it is shared again",
    async (...pair) => {
      const fixture = get();
      const networks = await define(floating, pair, part);
      for (const name of ["a", "b"]) await fixture.join(name);
      await fixture.ledAlone();
      for (const network of networks) await given(network, "a");
      let first = "";
      for (const network of networks) {
        const told = await askPart(network, "a", "10.119.0.120");
        if (first === "" && told.status === 0) first = addressOf(told);
      }
      expect(first).toBe("10.119.0.120");
      expect(await fixture.dangers()).toEqual([]);
      for (const [index, network] of networks.entries())
        await fixture.redefine(network, { ...floating, ...says[pair[index]!].more });
      await isLeft();
      await fill(networks.map(asShared), ["a", "b"]);
    },
  );

  it.each(pairs)(
    "%s and %s, from shared: what one holds in what becomes the floating part is not the other's",
    async (...pair) => {
      const fixture = get();
      const networks = await define(floating, pair, {});
      for (const name of ["a", "b"]) await fixture.join(name);
      await fixture.ledAlone();
      expect((await ask(networks[0]!, "a", "10.119.0.121")).status).toBe(0);
      for (const [index, network] of networks.entries()) {
        const { namespace, more } = says[pair[index]!];
        await fixture.redefine(network, { ...floating, ...more, ...(namespace === "tenant" ? {} : part) });
      }
      await expect.poll(async () => (await fixture.books()).slices.length, patient).toBe(2);
      const administrator = networks.find(({ namespace }) => namespace === "default")!;
      await given(administrator, "b");
      for (const network of networks) for (const node of ["a", "b"]) await askPart(network, node, "10.119.0.121");
      expect(await fixture.dangers()).toEqual([]);
    },
  );

  const phases = async () => {
    const state = await get().admin.get(configMaps, { namespace: systemNamespace, name: stateName });
    return readSlicedRanges(state)?.ranges.map(({ phase, floating: block }) => `${phase} ${block ?? ""}`.trim());
  };

  it("a pool that is there without a domain is marked before anything is moved, or the range is not shared", async () => {
    const fixture = get();
    const ipam = { range: "10.120.0.0/27", network_name: "bare" };
    const networks = await define(ipam, ["true", "false"], { node_slice_size: "/29" });
    const lines = [(await fixture.join("a")).line, (await fixture.join("b")).line, fixture.lead().line];
    for (const network of networks) for (const node of ["a", "b"]) await given(network, node);
    await fixture.settle();
    const name = "bare-10.120.0.0-27";
    let tries = 0;
    for (const line of lines) {
      line.blocks = ({ method, path }) => {
        const isMark = method === "PATCH" && path.endsWith(`/ippools/${name}`);
        tries += isMark ? 1 : 0;
        return isMark;
      };
    }
    const spec = { range: ipam.range, allocations: {} };
    await fixture.admin.create(ipPools, { metadata: { namespace: systemNamespace, name }, spec });
    for (const network of networks) await fixture.redefine(network, { ...ipam, ...(network === networks[1] && apart) });
    await expect.poll(() => tries, patient).toBeGreaterThan(2);
    await moment();
    const { slices, shared: moved } = await fixture.books();
    expect([await phases(), slices.map(({ node }) => node).toSorted(), moved]).toEqual([["open"], ["a", "b"], []]);
    for (const line of lines) line.blocks = () => false;
    await isLeft();
    await fill(networks.map(asShared).toReversed(), ["a", "b"]);
  });

  it("pools of two domains on record: there is no floating part before one of them is gone", async () => {
    const fixture = get();
    const ipam = { ...floating, range: "10.122.0.0/25" };
    const alone = await fixture.define("alone", { ...ipam, ...apart });
    await fixture.join("a");
    await fixture.ledAlone();
    await given(alone, "a");
    const name = "part-10.122.0.112-28";
    const annotations = { "holdfast.io/network": "part", "holdfast.io/domain": "network:part" };
    const spec = { range: "10.122.0.112/28", allocations: {} };
    await fixture.admin.create(ipPools, { metadata: { namespace: systemNamespace, name, annotations }, spec });
    const cut = await fixture.redefine(alone, { ...ipam, ...apart, ...part });
    await expect.poll(phases, patient).toEqual(["open"]);
    await moment();
    expect(await phases()).toEqual(["open"]);
    await fixture.admin.delete(ipPools, { namespace: systemNamespace, name });
    await expect.poll(phases, patient).toEqual(["open 10.122.0.112/28"]);
    expect((await askPart(cut, "a", "10.122.0.120")).status).toBe(0);
  });

  it("a pool that was deleted while its range was sliced is not the one that nodes remember", async () => {
    const fixture = get();
    const ipam = { range: "10.121.0.0/27", network_name: "anew" };
    const alone = await fixture.define("alone", { ...ipam, ...apart });
    for (const name of ["a", "b"]) await fixture.join(name);
    await fixture.ledAlone();
    const guest = await fixture.pod("a", "pod", alone);
    await fixture.add(guest, alone);
    await fixture.end(guest, alone);
    const size = { node_slice_size: "/29" };
    const sliced = await fixture.redefine(alone, { ...ipam, ...apart, ...size });
    const strict = await fixture.define("strict", { ...ipam, ...size });
    for (const network of [sliced, strict]) for (const node of ["a", "b"]) await given(network, node);
    await fixture.settle();
    await fixture.admin.delete(ipPools, { namespace: systemNamespace, name: "anew-10.121.0.0-27" });
    const shared = [await fixture.redefine(strict, ipam), await fixture.redefine(alone, { ...ipam, ...apart })];
    await isLeft();
    await fill(shared.toReversed(), ["a", "b"]);
  });

  it("a pool that is removed in the order of docs/objects.md: no daemon goes by what it remembers of it", async () => {
    const fixture = get();
    const { admin } = fixture;
    const ipam = { range: "10.123.0.0/27", network_name: "gone" };
    const name = "gone-10.123.0.0-27";
    const pause = (paused: string) => {
      const at = { namespace: systemNamespace, name: stateName };
      return admin.patch(configMaps, at, { type: "merge", body: { data: { paused } } });
    };
    const domain = async () =>
      (await admin.get(ipPools, { namespace: systemNamespace, name })).metadata.annotations?.["holdfast.io/domain"];
    const alone = await fixture.define("alone", { ...ipam, ...apart });
    for (const node of ["a", "b"]) await fixture.join(node);
    await fixture.ledAlone();
    // Both remember it; nothing of it is held.
    for (const node of ["a", "b"]) {
      const guest = await fixture.pod(node, "pod", alone);
      await fixture.add(guest, alone);
      await fixture.end(guest, alone);
    }
    expect(await domain()).toBe(`pool:${systemNamespace}/${name}`);
    const strict = await fixture.define("strict", ipam);
    await pause(`IPPool ${name} is removed`);
    for (const node of ["a", "b"]) await fixture.restart(node);
    expect((await ask(alone, "a")).status).not.toBe(0);
    expect((await fixture.books()).shared).toEqual([]);
    await admin.delete(ipPools, { namespace: systemNamespace, name });
    for (const clock of [fixture.clock, ...["a", "b"].map((node) => fixture.node(node).clock)])
      clock.shiftMs += 120_000;
    await pause("");
    await given(strict, "a");
    expect(await domain()).toBe("network:gone");
    await given(alone, "b");
    await fill([alone, strict], ["a", "b"]);
  });
}
