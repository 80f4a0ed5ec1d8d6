// What a first user meets: a pod of `holdfast up` through its life, and the commands that must not run beside a leader.
import { hostname } from "node:os";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { assembleController } from "../../src/controller/controller.ts";
import { realClock } from "../../src/kube/clock.ts";
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { nodeNameOf } from "../../src/kube/process/own-node.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import { LeakCollector } from "../../src/pools/leaks/collector.ts";
import { kubevirtCrds } from "../claims/kubevirt/crds.ts";
import { until } from "../lab/wait.ts";
import { UpFixture } from "./up-fixture.ts";

const node = nodeNameOf(hostname());
const podText = (name: string) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "example", annotations: { "k8s.v1.cni.cncf.io/networks": "blue" } },
    spec: { nodeName: node, containers: [{ name: "web", image: "web" }] },
  });

let fixture: UpFixture;
beforeEach(() => (fixture = new UpFixture()));
afterEach(() => fixture[Symbol.asyncDispose]());

/** The addresses of example's network that are held, without those that rest. */
const held = () => {
  const words = "get overlappingrangeipreservations -n kube-system --no-headers -o custom-columns=:metadata.name";
  return fixture.kubectl(...words.split(" "), "-l", "!holdfast.io/cooling");
};

/** Leak collection by its own limits, on a clock of ours: two looks, an hour apart. */
async function lookTwiceAnHourApart(): Promise<void> {
  await using connection = connect(await loadKubeconfig({ path: fixture.kubeconfig }));
  const { client } = connection;
  const stop = new AbortController();
  const common = { client, clock: realClock, systemNamespace: "kube-system", cooldownMs: 0 };
  const { caches } = assembleController({ ...common, log: silent, instance: "t", reconcilers: [] });
  const running = caches.informers.map((informer) => informer.run(stop.signal));
  await Promise.all(caches.informers.map((informer) => informer.synced(stop.signal)));
  caches.follow(() => {}, stop.signal);
  const clock = new ManualClock();
  const now = () => realClock.wallMs();
  const collector = new LeakCollector({
    caches,
    client,
    clock,
    log: silent,
    ledgerOf: (namespace) =>
      new ReservationLedger({ client, namespace, now, clock: realClock, coexistence: () => false }),
    cooldownMs: 0,
    allowMassRelease: true,
  });
  await collector.look(stop.signal);
  await clock.advance(3_600_000);
  await collector.look(stop.signal);
  stop.abort();
  await Promise.all(running);
}

describe("a pod of `holdfast up`", () => {
  it("has a Node that is Ready, keeps its address for as long as it lives, and ends when it is deleted", async () => {
    const run = fixture.up("--port", "0");
    await run.until("Waiting for CNI requests");
    const ready = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}';
    expect(await fixture.kubectl("get", "node", node, "--ignore-not-found", "-o", ready)).toBe("True");

    for (const pod of ["web-0", "lost-0"]) {
      await fixture.kubectlWith(podText(pod), "apply", "-f", "-");
      expect(await fixture.cni("ADD", pod, `sandbox-of-${pod}`)).toMatchObject({ status: 0 });
    }
    expect((await held()).split("\n")).toEqual(["10.77.0.2", "10.77.0.3", ""]);
    await fixture.kubectl("delete", "pod", "-n", "example", "lost-0", "--force", "--grace-period=0");
    await lookTwiceAnHourApart();
    // Of the one that is gone it was collected; the one that lives has its own.
    expect((await held()).split("\n")).toEqual(["10.77.0.2", ""]);
    // The pool shows it a moment later.
    await expect.poll(async () => (await fixture.holdfast("check")).code, { timeout: 30_000, interval: 500 }).toBe(0);

    expect(await fixture.cni("DEL", "web-0", "sandbox-of-web-0")).toMatchObject({ status: 0 });
    // kubectl waits until it is gone.
    await fixture.kubectl("delete", "pod", "-n", "example", "web-0", "--grace-period=1", "--timeout=120s");
    expect(await held()).toBe("");
    expect(await fixture.kubectl("get", "pods", "-n", "example", "-o", "name")).toBe("");
  });

  it("keeps its claims: letting go of finalizers is refused while `up` leads", async () => {
    const first = fixture.up("--port", "0");
    await first.until("Ctrl-C");
    for (const crd of kubevirtCrds) await fixture.kubectlWith(JSON.stringify(crd), "apply", "-f", "-");
    await fixture.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    first.child.kill("SIGINT");
    await first.ended;
    const second = fixture.up("--port", "0");
    await second.until("Waiting for CNI requests");
    const config = JSON.stringify({
      cniVersion: "1.0.0",
      name: "green",
      type: "bridge",
      allowPersistentIPs: true,
      ipam: { type: "holdfast", range: "10.78.0.0/24" },
    });
    const network = {
      apiVersion: "k8s.cni.cncf.io/v1",
      kind: "NetworkAttachmentDefinition",
      metadata: { name: "green", namespace: "example" },
      spec: { config },
    };
    const networks = [{ name: "a", multus: { networkName: "green" } }];
    const template = { spec: { networks, domain: { devices: { interfaces: [{ name: "a" }] } } } };
    const vm = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachine",
      metadata: { name: "vm1", namespace: "example" },
      spec: { runStrategy: "Halted", template },
    };
    for (const object of [network, vm]) await fixture.kubectlWith(JSON.stringify(object), "apply", "-f", "-");
    const finalizers = ["-n", "example", "get", "ipamclaim", "vm1.a", "--ignore-not-found"];
    finalizers.push("-o", "jsonpath={.metadata.finalizers}");
    await until(async () => (await fixture.kubectl(...finalizers)).includes("holdfast.io/persistent-ip"), {
      what: "the claim that the leader makes",
    });
    const refused = await fixture.holdfast("claims", "release-finalizers", "--yes");
    expect(refused).toMatchObject({ code: 1, printed: expect.stringContaining("A controller leads") });
    expect(await fixture.kubectl(...finalizers)).toContain("holdfast.io/persistent-ip");
  });
});
