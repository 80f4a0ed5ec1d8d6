// Complaints about whereabouts under load (docs/complaints.md): duplicates, attachments that take minutes, the global
// lease. Nothing here asserts a time: bench/ measures. What is shown is that the causes are gone.
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import { freeMapName } from "../../src/cluster/free-map.ts";
import type { AuditedRequest } from "../lab/audit.ts";
import { type PodIdentity, Fixture } from "../lab/holdfast/fixture.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

const group = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await Fixture.start({ api: "real", daemons: 4, controller: true });
}, coldStartTimeoutMs);
afterAll(() => fixture?.stop());
beforeEach(() => onTestFailed(() => console.error(fixture.lastWords())));

const networkOf = (name: string, ipam: object) => ({
  cniVersion: "1.0.0",
  name,
  type: "bridge",
  ipam: { type: "holdfast", ...ipam },
});

interface Bound {
  readonly pod: PodIdentity;
  readonly node: string;
}

/** Pods that are spread over all daemons. */
function makePods(prefix: string, count: number): Promise<Bound[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const node = fixture.daemons[index % fixture.daemons.length]!.name;
      return { node, pod: await fixture.createPod(`${prefix}-${index}`, node) };
    }),
  );
}

async function addressesOf(bound: readonly Bound[], config: object): Promise<string[]> {
  const answers = await Promise.all(bound.map(({ pod, node }) => fixture.request("ADD", node, pod, config)));
  expect(answers.filter(({ status }) => status !== 0)).toEqual([]);
  return answers.flatMap(({ body }) => body!.ips!.map(({ address }) => address));
}

test("110, 393: 250 pods on four nodes at once fill a /24 without a duplicate, and the IPPool lists them all", async () => {
  const config = networkOf("crowd", { range: "10.110.0.0/24" });
  const bound = await makePods("crowd", 250);
  expect(new Set(await addressesOf(bound, config)).size).toBe(250);
  await until(
    async () => {
      const pool = await fixture.api.rest.get<{ spec: { allocations: Record<string, { podref: string }> } }>(
        `${group}/ippools/10.110.0.0-24`,
      );
      return new Set(Object.values(pool.spec.allocations).map(({ podref }) => podref)).size === 250;
    },
    { what: "the pool to list 250 pods", everyMs: 200 },
  );
});

test("508, 313: 24 pods with 16 networks each, all at once: every attachment is answered with an address", async () => {
  const configs = Array.from({ length: 16 }, (_, index) => networkOf(`n${index}`, { range: `10.113.${index}.0/24` }));
  const bound = await makePods("many", 24);
  const answers = await Promise.all(
    bound.flatMap(({ pod, node }) =>
      configs.map((config, index) => fixture.request("ADD", node, pod, config, { interface: `net${index}` })),
    ),
  );
  expect(answers.filter(({ status }) => status !== 0)).toEqual([]);
  expect(new Set(answers.flatMap(({ body }) => body!.ips!.map(({ address }) => address))).size).toBe(24 * 16);
});

test("288: a pod gets its own address back from a daemon that has just started, as after a node's return", async () => {
  const config = networkOf("return", { range: "10.187.0.0/24" });
  const node = "node1";
  const pods = await Promise.all(["a", "b", "c"].map((name) => fixture.createPod(`return-${name}`, node)));
  const addressOf = async (pod: PodIdentity, containerId: string) => {
    const answer = await fixture.request("ADD", node, pod, config, { containerId });
    return answer.body?.ips?.[0]?.address;
  };
  const before: (string | undefined)[] = [];
  for (const pod of pods) before.push(await addressOf(pod, `old-${pod.uid}`));
  expect(new Set(before).size).toBe(3);
  // The free map says what is taken and not by whom: who frees must remember it.
  const map = `/api/v1/namespaces/kube-system/configmaps/${freeMapName("kube-system/10.187.0.0-24")}`;
  await until(() => fixture.api.rest.get(map), { what: "the free map" });
  await fixture.daemon(node).process.restart();
  for (const pod of pods) await fixture.request("DEL", node, pod, config, { containerId: `old-${pod.uid}` });
  const after: (string | undefined)[] = [];
  for (const pod of pods.toReversed()) after.unshift(await addressOf(pod, `new-${pod.uid}`));
  expect(after).toEqual(before);
});

const daemonUser = "system:serviceaccount:kube-system:holdfast-node";
const writes: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"]);

test("508, 510: no lease is taken, and an address costs one write, whoever else is asking", async () => {
  const config = networkOf("lean", { range: "10.150.0.0/22" });
  const bound = await makePods("lean", 100);
  await addressesOf(bound.slice(0, 20), config); // the pool is made once, and all daemons have met it
  const before = fixture.api.requests!().length;
  for (const each of bound.slice(20)) await addressesOf([each], config);
  const asked = fixture.api.requests!().slice(before);
  // A daemon renews the Lease of its own node once a minute, whatever it hands out: a sign of life and no lock.
  const isRenewal = (uri: string) => /\/leases\/holdfast-node-node\d(\?|$)/.test(uri);
  const written = asked.filter(({ user, verb, resource, uri }) => {
    return user === daemonUser && writes.has(verb) && resource !== "events" && !isRenewal(uri);
  });
  // What another daemon took since is met as a conflict; nothing else is ever written.
  const ended = (code: number) => written.filter((each) => each.verb === "create" && each.code === code);
  expect(ended(201)).toHaveLength(80);
  expect(written).toHaveLength(ended(201).length + ended(409).length);
  const isTaking = ({ user, verb }: { user: string; verb: string }) => user === daemonUser || writes.has(verb);
  expect(asked.filter((each) => isTaking(each) && each.uri.includes("/leases/whereabouts"))).toEqual([]);
  const leases = asked.filter(
    ({ user, verb, resource }) => user === daemonUser && writes.has(verb) && resource === "leases",
  );
  expect(leases.filter(({ uri }) => !isRenewal(uri))).toEqual([]);
});

const fieldsOf = (uri: string) => new URL(uri, "https://server").searchParams;

/** Whose pods alone are asked for. */
const nodeOf = (uri: string) => /^spec\.nodeName=(node\d)$/.exec(fieldsOf(uri).get("fieldSelector") ?? "")?.[1];

/** After a broken watch a daemon learns the server's version (src/kube/cache/reflector.ts) from a list of one key. */
const isOfOneName = (uri: string) =>
  /^metadata\.name=[^,]+$/.test(fieldsOf(uri).get("fieldSelector") ?? "") && fieldsOf(uri).get("limit") === "1";

test("260, 386: a daemon reads the pods of its own node, one by one or by a selector, and never all of them", async () => {
  const listed = () =>
    fixture.api.requests!().filter(({ user, resource, verb }) => {
      return user === daemonUser && resource === "pods" && (verb === "list" || verb === "watch");
    });
  const before = listed().length;
  expect(before).toBeGreaterThanOrEqual(2 * fixture.daemons.length);
  await fixture.api.server.restart(); // every watch breaks
  const resumed = () =>
    listed()
      .slice(before)
      .filter(({ verb, code }) => verb === "watch" && code === 200);
  await until(async () => new Set(resumed().map(({ uri }) => nodeOf(uri))).size === fixture.daemons.length, {
    what: "all daemons to watch their pods again",
  });
  const isAllowed = ({ verb, uri }: AuditedRequest) =>
    nodeOf(uri) !== undefined || (verb === "list" && isOfOneName(uri));
  expect(listed().filter((each) => !isAllowed(each))).toEqual([]);
});
