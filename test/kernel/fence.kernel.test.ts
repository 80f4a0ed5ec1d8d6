// An old guest stays cut off when its node returns: real namespaces and interfaces, a ledger on the embedded API.
//
// `pod` is the sandbox that stayed behind; its cable is called as KubeVirt's bridge binding calls it, beside the one
// that has the plugin's name. `other` sees the guest over the wire for as long as the fence lets it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { namespaces, pods } from "../../src/cluster/resources.ts";
import type { AmendableLedger } from "../../src/ipam/ledger.ts";
import { type ClaimOwner, ownerKey } from "../../src/ipam/owner.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import { parseAddress } from "../../src/net/address.ts";
import { serverFacts } from "../../src/node/claims/fence/fence-facts.ts";
import { Fence } from "../../src/node/claims/fence/fence.ts";
import { type Sandbox, Sandboxes } from "../../src/node/holds/sandboxes.ts";
import { namespaceId } from "../../src/node/kernel/namespace.ts";
import { probeDuplicate } from "../../src/node/kernel/probe.ts";
import { shutLinks } from "../../src/node/kernel/shut.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { Wire } from "./wire.ts";

const never = new AbortController().signal;
const address = parseAddress("10.7.0.5");
const domain = "network:blue";
const claim: ClaimOwner = { kind: "claim", uid: "claim-1", namespace: "shop", name: "vm.blue" };
const link = "pod16477688c0e";
const cable = "16477688c0e-nic";

const api = openApi({ path: ":memory:" });
const client = new KubeClient({ transport: api.transport });
const ledger: AmendableLedger = new ReservationLedger({ client, namespace: "kube-system", now: Date.now });
beforeAll(async () => {
  await installDefinitions(client);
  await client.create(namespaces, { metadata: { name: "shop" } });
});
afterAll(() => api.close());

async function pod(name: string, phase = "Running"): Promise<{ namespace: string; name: string; uid: string }> {
  const spec = { nodeName: "n1", containers: [{ name: "compute", image: "x" }] };
  const made = await client.create(pods, { metadata: { namespace: "shop", name }, spec });
  await client.patch(
    pods,
    { namespace: "shop", name },
    { type: "merge", body: { status: { phase } } },
    { subresource: "status" },
  );
  return { namespace: "shop", name, uid: made.metadata.uid! };
}

async function usedBy(...users: readonly { name: string; uid: string }[]): Promise<void> {
  const noted = users.map(({ name, uid }) => ({ name, uid, node: "n1" }));
  const result = await ledger.take({ domain, address, owner: claim, users: noted });
  if (result.outcome === "taken") return;
  if (result.outcome !== "yours") throw new Error(result.outcome);
  await ledger.amend({ domain, address, owner: ownerKey(claim), version: result.hold.version, users: noted });
}

describe("the fence", () => {
  let wire: Wire;
  let state: string;
  let told: string[];
  let fenced: number;
  let alive: Set<string>;
  let clock: ManualClock;
  let sandboxes: Sandboxes | undefined;

  beforeEach(async () => {
    wire = await Wire.of([{ name: "pod" }, { name: "other" }]);
    // As virt-handler leaves it: the cable renamed, and an interface without one (a dummy) under the plugin's name.
    await wire.ip("pod", "link", "set", "eth0", "down");
    await wire.ip("pod", "link", "set", "eth0", "name", cable);
    await wire.ip("pod", "link", "set", cable, "up");
    await wire.ip("pod", "link", "add", link, "type", "bridge");
    await wire.ip("pod", "link", "set", link, "up");
    await wire.ip("pod", "link", "set", "lo", "up");
    await wire.ip("pod", "address", "add", `${address}/24`, "dev", cable);
    state = await mkdtemp(join(tmpdir(), "holdfast-fence-"));
    [told, fenced, alive, clock] = [[], 0, new Set(), new ManualClock()];
  });
  afterEach(async () => {
    await wire.remove();
    await sandboxes?.close();
    sandboxes = undefined;
    await rm(state, { recursive: true });
    for (const { metadata } of (await client.list(pods, { namespace: "shop" })).items) {
      await client.delete(pods, { namespace: "shop", name: metadata.name! }, { gracePeriodSeconds: 0 });
    }
    for (const hold of await ledger.find(domain, ownerKey(claim))) {
      await ledger.release({ ...hold, owner: ownerKey(claim), cooldownMs: 0 });
    }
  });

  /** As a daemon does when it starts. */
  const started = async () => {
    await sandboxes?.close();
    sandboxes = await Sandboxes.open({ folder: state, bootId: "b", identify: namespaceId, log: silent });
    return new Fence({
      sandboxes,
      facts: serverFacts(client),
      isAlive: ({ uid }) => alive.has(uid),
      shut: shutLinks,
      tell: (object, _type, reason) => told.push(`${object.kind} ${object.metadata.name} ${reason}`),
      onFence: () => (fenced += 1),
      clock,
      log: silent,
    });
  };
  const sandbox = (owner: { namespace: string; name: string; uid: string }): Sandbox => ({
    containerId: "c1",
    interfaceName: link,
    netns: wire.netns("pod"),
    pod: owner,
    claim: { namespace: claim.namespace, name: claim.name, uid: claim.uid },
    holds: [{ namespace: "kube-system", domain, address: `${address}`, owner: claim }],
  });
  const isUp = async (name: string) => (await wire.link("pod", name)).flags.includes("UP");
  const answers = async () =>
    (await probeDuplicate({ netns: wire.netns("other"), interface: "eth0", address, timeoutMs: 600 })).duplicate;
  const remove = (name: string) => client.delete(pods, { namespace: "shop", name }, { gracePeriodSeconds: 0 });

  test("takes the cable down, and nothing else, once the pod is gone and the VM runs elsewhere", async () => {
    const [old, young] = [await pod("launcher-1"), await pod("launcher-2")];
    await usedBy(old);
    await started();
    await sandboxes!.remember(sandbox(old));
    expect(await answers()).toBe(true);
    await usedBy(old, young);
    await remove(old.name);
    // The daemon that comes back has its memory from the disk.
    const fence = await started();
    await fence.look(never);
    expect([await isUp(cable), await isUp(link), await isUp("lo")]).toEqual([false, false, true]);
    expect(await answers()).toBe(false);
    expect((await wire.link("other")).flags).toContain("UP");
    expect(told).toEqual(["IPAMClaim vm.blue OldSandboxFenced"]);
    expect(fenced).toBe(1);
    await clock.advance(120_000);
    await fence.look(never);
    expect([told.length, fenced], "said once").toEqual([1, 1]);
    await wire.ip("pod", "link", "set", cable, "up");
    await clock.advance(120_000);
    await fence.look(never);
    expect([await isUp(cable), fenced], "and done again where somebody brings it up").toEqual([false, 2]);
  });

  test("leaves a pod alone that lives, though another uses the address: a migration", async () => {
    const [source, target] = [await pod("launcher-1"), await pod("launcher-2")];
    await usedBy(source, target);
    const fence = await started();
    await sandboxes!.remember(sandbox(source));
    await fence.look(never);
    await clock.advance(120_000);
    await fence.look(never);
    expect([await isUp(cable), fenced]).toEqual([true, 0]);
  });

  test("leaves a pod alone that is gone while nobody else has its address, or only what has ended", async () => {
    const [old, ended] = [await pod("launcher-1"), await pod("launcher-2", "Succeeded")];
    await usedBy(old, ended);
    const fence = await started();
    await sandboxes!.remember(sandbox(old));
    await remove(old.name);
    await fence.look(never);
    await clock.advance(120_000);
    await fence.look(never);
    expect([await isUp(cable), fenced]).toEqual([true, 0]);
    // Then the VM starts elsewhere.
    await usedBy(await pod("launcher-3"));
    await clock.advance(120_000);
    await fence.look(never);
    expect([await isUp(cable), fenced]).toEqual([false, 1]);
  });

  test("gives a kubelet its time with a pod that has ended, and not for ever", async () => {
    const [old, young] = [await pod("launcher-1", "Failed"), await pod("launcher-2")];
    await usedBy(old, young);
    const fence = await started();
    await sandboxes!.remember(sandbox(old));
    await fence.look(never);
    expect(await isUp(cable)).toBe(true);
    await clock.advance(10_000);
    await fence.look(never);
    expect(await isUp(cable)).toBe(false);
  });

  test("asks the server only where the informer does not have the pod alive", async () => {
    const [old, young] = [await pod("launcher-1"), await pod("launcher-2")];
    await usedBy(young);
    const fence = await started();
    await sandboxes!.remember(sandbox(old));
    await remove(old.name);
    alive.add(old.uid); // an informer that stands still
    await fence.look(never);
    expect(await isUp(cable)).toBe(true);
    alive.clear(); // and has caught up
    await fence.look(never);
    expect(await isUp(cable)).toBe(false);
  });

  test("forgets a sandbox at its DEL, and one whose namespace is gone", async () => {
    const old = await pod("launcher-1");
    const fence = await started();
    await sandboxes!.remember(sandbox(old));
    await sandboxes!.remember({ ...sandbox(old), containerId: "c2", netns: wire.netns("other") });
    await sandboxes!.forget({ containerId: "c1", interfaceName: link });
    expect(sandboxes!.all().map(({ containerId }) => containerId)).toEqual(["c2"]);
    await remove(old.name);
    await wire.deleteHost("other");
    await fence.look(never);
    expect(sandboxes!.all()).toEqual([]);
  });

  test("never touches another sandbox that has the path by now", async () => {
    const [old, young] = [await pod("launcher-1"), await pod("launcher-2")];
    await usedBy(young);
    const fence = await started();
    // Of another namespace than any that there is: the kernel gives a freed number to the next one.
    await sandboxes!.remember(sandbox(old), Promise.resolve("1:1"));
    await remove(old.name);
    await expect(shutLinks({ netns: wire.netns("pod"), netnsId: "1:1", links: [cable] }, never)).rejects.toMatchObject({
      code: "no-netns",
    });
    await wire.remake("pod", cable);
    await fence.look(never);
    expect([await isUp(cable), fenced]).toEqual([true, 0]);
    expect(sandboxes!.all()).toEqual([]);
  });

  test("a namespace that could not be seen is never touched", async () => {
    const old = await pod("launcher-1");
    await usedBy(await pod("launcher-2"));
    const fence = await started();
    await sandboxes!.remember({ ...sandbox(old), netns: "/run/netns/hf-never-was" });
    await remove(old.name);
    await fence.look(never);
    expect([sandboxes!.all().length, fenced]).toEqual([1, 0]);
  });

  test.each([
    ["no-netns", "the namespace is gone", { netns: "/run/netns/hf-never-was" }],
    ["no-netns", "the path is something else", { netns: "/etc/hostname" }],
  ])("%s: %s", async (code, _, change) => {
    const netnsId = (await namespaceId(change.netns)) ?? "";
    await expect(shutLinks({ links: ["eth0"], netnsId, ...change }, never)).rejects.toMatchObject({ code });
  });

  test("names that no interface has are passed over", async () => {
    const netns = wire.netns("pod");
    const netnsId = (await namespaceId(netns))!;
    const links = ["nothing", "a/../b", "much-too-long-a-name", cable];
    expect(await shutLinks({ netns, netnsId, links }, never)).toEqual([cable]);
  });
});
