// A lost node comes back, with real daemons: the VM runs elsewhere with its address; the guest left behind is cut off.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";

import { openApi } from "../../src/apiserver/api.ts";
import { ipamClaims, namespaces, pods, reservations } from "../../src/cluster/resources.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { namespaceId } from "../../src/node/kernel/namespace.ts";
import { shutLinks } from "../../src/node/kernel/shut.ts";
import { until } from "../lab/wait.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { tellState } from "../ledger/told-state.ts";
import { DaemonFixture } from "../node/daemon-fixture.ts";
import { podArgs } from "../node/shim.ts";
import { Wire } from "./wire.ts";

const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const crd = join(import.meta.dirname, "../../deploy/ipamclaims/k8s.cni.cncf.io_ipamclaims.yaml");
const config = {
  cniVersion: "1.0.0",
  name: "blue",
  type: "ovs",
  topology: "localnet",
  subnets: "10.7.0.0/24",
  allowPersistentIPs: true,
  ipam: { type: "holdfast" },
};

const api = openApi({ path: ":memory:" });
const client = new KubeClient({ transport: api.transport });
let wire: Wire;
beforeAll(async () => {
  await installDefinitions(client);
  await client.create(crds, parse(readFileSync(crd, "utf8")) as AnyObject);
  await until(
    async () =>
      client.list(ipamClaims).then(
        () => true,
        () => false,
      ),
    { what: "IPAMClaims to be served" },
  );
  await client.create(namespaces, { metadata: { name: "shop" } });
  await tellState(client);
  wire = await Wire.of([{ name: "old" }, { name: "young" }]);
});
afterAll(async () => {
  await wire?.remove();
  api.close();
});

/** What the node's cable carries; cut, nothing is heard and nothing arrives. */
function cable(): { transport: Transport; cut: () => void; mend: () => void } {
  let isCut = false;
  const ends = new Set<AbortController>();
  const transport: Transport = async (request) => {
    if (isCut) throw new Error("no route to host");
    const end = new AbortController();
    ends.add(end);
    const signal = request.signal === undefined ? end.signal : AbortSignal.any([request.signal, end.signal]);
    return api.transport({ ...request, signal });
  };
  const cut = () => {
    isCut = true;
    for (const end of ends) end.abort(new Error("the cable is cut"));
    ends.clear();
  };
  return { transport, cut, mend: () => (isCut = false) };
}

async function launcher(name: string, node: string, claim: string): Promise<string> {
  const networks = JSON.stringify([
    { name: "blue", namespace: "shop", interface: "eth0", "ipam-claim-reference": claim },
  ]);
  const metadata = { namespace: "shop", name, annotations: { "k8s.v1.cni.cncf.io/networks": networks } };
  const spec = { nodeName: node, containers: [{ name: "compute", image: "none" }] };
  const made = await client.create(pods, { metadata, spec });
  await client.patch(
    pods,
    { namespace: "shop", name },
    { type: "merge", body: { status: { phase: "Running" } } },
    { subresource: "status" },
  );
  return made.metadata.uid!;
}

const fencing = { identify: namespaceId, shut: shutLinks };
const isUp = async (host: string) => (await wire.link(host)).flags.includes("UP");
const fenced = async (daemonFixture: DaemonFixture) =>
  Number(/^holdfast_sandboxes_fenced_total (\d+)/m.exec(await daemonFixture.registry.metrics())?.[1]);

test.each([
  ["while its daemon ran on, cut off", "stake-1"],
  ["and its daemon with it", "stake-2"],
])(
  "a node is lost, %s",
  async (how, name) => {
    const isRestarted = how.startsWith("and");
    await wire.ip("old", "link", "set", "eth0", "up");
    await client.create(ipamClaims, {
      metadata: { namespace: "shop", name },
      spec: { network: "blue", interface: "" },
    });
    const line = cable();
    await using old = await DaemonFixture.start({ transport: line.transport, node: "n1", fencing });
    await using young = await DaemonFixture.start({ transport: api.transport, node: "n2", fencing });
    const sandbox = (host: string, pod: string, uid: string) => ({
      container: `c-${pod}`,
      netns: wire.netns(host),
      args: podArgs("shop", pod, uid),
      config,
    });
    const first = sandbox("old", "launcher-1", await launcher("launcher-1", "n1", name));
    const told = await old.ask({ command: "ADD", ...first });
    expect(told.json.ips).toEqual([{ address: expect.stringMatching(/^10\.7\.0\.\d+\/24$/) as unknown }]);

    line.cut();
    if (isRestarted) await old.stop();
    // An administrator vouches for the node: the pod is deleted by force, and the VM starts elsewhere.
    await client.delete(pods, { namespace: "shop", name: "launcher-1" }, { gracePeriodSeconds: 0 });
    const second = sandbox("young", "launcher-2", await launcher("launcher-2", "n2", name));
    expect((await young.ask({ command: "ADD", ...second })).json.ips).toEqual(told.json.ips);
    expect([await isUp("old"), await isUp("young")]).toEqual([true, true]);

    line.mend();
    if (isRestarted) await old.start();
    await until(async () => !(await isUp("old")), { what: "the end of the old guest's cable" });
    await until(async () => (await fenced(old)) === 1, { what: "the metric" });
    expect([await isUp("young"), await fenced(young)]).toEqual([true, 0]);
    const about = async () => {
      const text = await client.raw("/api/v1/namespaces/shop/events");
      const { items } = JSON.parse(text) as {
        items: { reason: string; involvedObject: { kind: string; name: string } }[];
      };
      return items
        .filter(({ reason }) => reason === "OldSandboxFenced")
        .map(({ involvedObject }) => `${involvedObject.kind} ${involvedObject.name}`);
    };
    await until(async () => (await about()).includes(`IPAMClaim ${name}`), { what: "the event on the claim" });

    // The kubelet ends the old sandbox: nothing of the claim's is freed by it.
    expect(await old.ask({ command: "DEL", ...first })).toMatchObject({ status: 0 });
    expect(
      await young.ask({ command: "CHECK", ...second, config: { ...config, prevResult: { ...told.json } } }),
    ).toMatchObject({ status: 0 });
    await young.ask({ command: "DEL", ...second });
    await client.delete(pods, { namespace: "shop", name: "launcher-2" }, { gracePeriodSeconds: 0 });
    await client.delete(ipamClaims, { namespace: "shop", name });
    await client.deleteCollection(reservations, { namespace: "kube-system" });
  },
  60_000,
);
