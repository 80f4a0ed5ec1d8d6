// Complaints about node slices (docs/complaints.md): panics, lost addresses, dropped limits, objects that grow or stay.
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import { nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import { type PodIdentity, Fixture } from "../lab/holdfast/fixture.ts";
import type { CniAnswer } from "../lab/holdfast/request.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

const group = "/apis/whereabouts.cni.cncf.io/v1alpha1";
const daemonCount = 3;
const storyMs = 180_000;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await Fixture.start({
    api: "real",
    daemons: daemonCount,
    controller: true,
    controllerArgs: ["--trusted-namespaces=default,kube-public"],
    nodeArgs: ["--cooldown-seconds=0"],
  });
}, coldStartTimeoutMs);
afterAll(() => fixture?.stop());
beforeEach(() => onTestFailed(() => console.error(fixture.lastWords())));

interface Definition {
  readonly name: string;
  readonly namespace: string;
  readonly config: object;
}

const definitionsOf = (namespace: string) =>
  `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions`;

async function define(name: string, ipam: object, namespace = "default"): Promise<Definition> {
  const config = { cniVersion: "1.0.0", name, type: "bridge", ipam: { type: "holdfast", ...ipam } };
  await fixture.api.rest.create(definitionsOf(namespace), {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name, namespace },
    spec: { config: JSON.stringify(config) },
  });
  return { name, namespace, config };
}

/** As a kubelet: again until there is an address. */
async function add(pod: PodIdentity, node: string, { config }: Definition, port = "net1"): Promise<string[]> {
  return until(
    async () => {
      const { status, body } = await fixture.request("ADD", node, pod, config, { interface: port });
      if (status === 0) return body!.ips!.map(({ address }) => address);
      await fixture.request("DEL", node, pod, config, { interface: port });
      throw new Error(`${body?.msg} ${body?.details}`);
    },
    { what: `an address for ${pod.name}`, everyMs: 200 },
  );
}

async function addNew(name: string, node: string, definition: Definition): Promise<string[]> {
  return add(await fixture.createPod(name, node), node, definition);
}

interface SlicePool {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly range: string };
  readonly status?: {
    readonly allocations?: readonly { readonly nodeName: string; readonly sliceRange: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}
const slicePool = (name: string) =>
  fixture.api.rest.get<SlicePool>(`${group}/namespaces/kube-system/nodeslicepools/${name}`);
const condition = async (name: string, type: string) =>
  (await slicePool(name)).status?.conditions?.find((each) => each.type === type);
const slicesOfNetwork = async (range: string) => {
  const selector = encodeURIComponent("holdfast.io/slice");
  const { items } = await fixture.api.rest.get<{
    items: { metadata: { annotations?: Readonly<Record<string, string>> } }[];
  }>(`${group}/ippools?labelSelector=${selector}`);
  return items.filter(({ metadata }) => metadata.annotations?.["holdfast.io/sliced-range"] === range);
};
const wordsOf = ({ body }: CniAnswer) => `${body?.msg ?? ""} ${body?.details ?? ""}`;

test(
  "558: 100 pods with 8 sliced networks each, all at once: every attachment has its address",
  { timeout: storyMs },
  async () => {
    const definitions = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        define(`many-${index}`, {
          range: `10.58.${index}.0/24`,
          node_slice_size: "/26",
          network_name: `many-${index}`,
        }),
      ),
    );
    const bound = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const node = `node${1 + (index % daemonCount)}`;
        return { node, pod: await fixture.createPod(`many-${index}`, node) };
      }),
    );
    const given = await Promise.all(
      bound.flatMap(({ node, pod }) =>
        definitions.map((definition, index) => add(pod, node, definition, `net${index}`)),
      ),
    );
    expect(new Set(given.flat()).size).toBe(800);
  },
);

test("497: a /8 in slices of 16 addresses is a small object: only what is assigned is in it", async () => {
  const definition = await define("huge", { range: "10.0.0.0/8", node_slice_size: "/28", network_name: "huge" });
  await addNew("huge", "node1", definition);
  const pool = await slicePool("huge");
  expect(pool.status?.allocations?.map(({ nodeName }) => nodeName).toSorted()).toEqual(["node1", "node2", "node3"]);
  expect(JSON.stringify(pool).length).toBeLessThan(8192);
});

test(
  "518: no slice is left for a node: it is told so, nothing crashes, and it gets an address when one is free",
  { timeout: storyMs },
  async () => {
    const definition = await define("few", { range: "10.18.0.0/30", node_slice_size: "/31", network_name: "few" });
    const first = await fixture.createPod("few-1", "node1");
    await add(first, "node1", definition);
    await addNew("few-2", "node2", definition);
    const late = await fixture.createPod("few-3", "node3");
    const refused = await fixture.request("ADD", "node3", late, definition.config);
    expect(refused.status).not.toBe(0);
    expect(wordsOf(refused)).toContain("10.18.0.0/30");
    await until(async () => (await condition("few", "Exhausted"))?.status === "True", { what: "the condition" });
    expect(fixture.controller?.running).toBe(true);
    expect(fixture.daemons.every(({ process }) => process.running)).toBe(true);
    expect(await fixture.request("DEL", "node1", first, definition.config)).toMatchObject({ status: 0 });
    expect(await add(late, "node3", definition)).toEqual([expect.stringMatching(/^10\.18\.0\.[12]\/30$/)]);
  },
);

test(
  "614, s3: a definition of any namespace has slices; they, their pool and their objects go with it",
  { timeout: storyMs },
  async () => {
    const definition = await define("away", { range: "10.14.0.0/24", node_slice_size: "/28" }, "kube-public");
    const pod = await fixture.createPod("away", "node2");
    expect(await add(pod, "node2", definition)).toEqual([expect.stringMatching(/^10\.14\.0\.\d+\/24$/)]);
    expect((await slicePool("away")).spec.range).toBe("10.14.0.0/24");
    await fixture.request("DEL", "node2", pod, definition.config);
    await fixture.api.rest.delete(`${definitionsOf("kube-public")}/away`);
    await until(async () => (await slicesOfNetwork("10.14.0.0/24")).length === 0, { what: "the slices to go" });
    await until(
      () =>
        slicePool("away").then(
          () => false,
          () => true,
        ),
      { what: "the pool to go" },
    );
  },
);

test("666: exclude, range_start and range_end are kept to", async () => {
  const definition = await define("limits", {
    range: "10.66.0.0/24",
    range_start: "10.66.0.20",
    range_end: "10.66.0.90",
    exclude: ["10.66.0.24/29", "10.66.0.64/28"],
    node_slice_size: "/26",
    network_name: "limits",
  });
  const given: string[] = [];
  for (let index = 0; index < 6; index++) given.push(...(await addNew(`limits-a${index}`, "node1", definition)));
  expect(given).toEqual(["20", "21", "22", "23", "32", "33"].map((last) => `10.66.0.${last}/24`));
  expect(await addNew("limits-b", "node2", definition)).toEqual(["10.66.0.80/24"]);
});

test("s1: IPv6 is cut into slices as IPv4 is, and each of several ranges has its own", async () => {
  const ipRanges = [
    { range: "fd51::/64", node_slice_size: "/80" },
    { range: "10.51.0.0/24", node_slice_size: "/28" },
  ];
  const definition = await define("six", { ipRanges, network_name: "six" });
  expect(await addNew("six-1", "node1", definition)).toEqual(["fd51::1/64", "10.51.0.1/24"]);
  expect(await addNew("six-2", "node2", definition)).toEqual(["fd51::1:0:0:0/64", "10.51.0.16/24"]);
});

test("s2: the first and the last address of a slice are given, with the network's mask", async () => {
  const definition = await define("ends", { range: "10.52.0.0/24", node_slice_size: "/30", network_name: "ends" });
  const given: string[] = [];
  for (let index = 0; index < 4; index++) given.push(...(await addNew(`ends-${index}`, "node2", definition)));
  expect(given).toEqual(["10.52.0.4/24", "10.52.0.5/24", "10.52.0.6/24", "10.52.0.7/24"]);
});

test("s3: one Lease per node, whatever the number of networks", async () => {
  const { items } = await fixture.api.rest.get<{ items: { metadata: { name: string } }[] }>(
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
  );
  const names = items.map(({ metadata }) => metadata.name).filter((name) => name !== "holdfast-controller");
  const ours = names.filter((name) => name.includes("node"));
  expect(ours.toSorted()).toEqual(fixture.daemons.map(({ name }) => nodeLeaseName(name)).toSorted());
});

test("s4: definitions without a network name do not disagree, whatever their ranges and sizes", async () => {
  const first = await define("plain-a", { range: "10.54.0.0/24", node_slice_size: "/28" });
  const second = await define("plain-b", { range: "10.55.0.0/24", node_slice_size: "/26" });
  const shared = await define("plain-c", { range: "10.56.0.0/24" });
  expect(await addNew("plain-a", "node1", first)).toEqual(["10.54.0.1/24"]);
  expect(await addNew("plain-b", "node1", second)).toEqual(["10.55.0.1/24"]);
  expect(await addNew("plain-c", "node1", shared)).toEqual(["10.56.0.1/24"]);
  for (const name of ["plain-a", "plain-b"]) expect((await condition(name, "Agreed"))?.status).toBe("True");
});

test(
  "s5: range and slice size change under a running pod: its address stays its own",
  { timeout: storyMs },
  async () => {
    const ipam = { range: "10.57.0.0/28", node_slice_size: "/29", network_name: "change" };
    const definition = await define("change", ipam);
    const pod = await fixture.createPod("change-1", "node1");
    const before = await add(pod, "node1", definition);
    const changed = { ...definition.config, ipam: { type: "holdfast", ...ipam, node_slice_size: "/30" } };
    await fixture.api.rest.patch(`${definitionsOf("default")}/change`, { spec: { config: JSON.stringify(changed) } });
    const after = { ...definition, config: changed };
    const given: string[] = [];
    for (let index = 0; index < 13; index++) given.push(...(await addNew(`change-n${index}`, "node2", after)));
    expect(new Set([...given, ...before]).size).toBe(14);
  },
);
