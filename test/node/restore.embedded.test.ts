// The API server forgets: its storage is restored from an older copy, or a hand deletes reservations. The pods run on.
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { type Api, openApi } from "../../src/apiserver/api.ts";
import { examine } from "../../src/check/examine.ts";
import { readSnapshot } from "../../src/check/snapshot.ts";
import { holds, pods, reservations } from "../../src/cluster/resources.ts";
import { NotSentError, type Transport } from "../../src/kube/transport/transport.ts";
import type { HeldObject } from "../../src/ledger/reservation/list-holds.ts";
import { tellState } from "../ledger/told-state.ts";
import type { DaemonFixture, DaemonFixtureOptions } from "./daemon-fixture.ts";
import { given, network, Fixture } from "./fixture.ts";
import { podArgs, type Told } from "./shim.ts";

let folder: string;
let api: Api;
let fixture: Fixture;
const path = () => join(folder, "api.db");
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-restore-"));
  api = openApi({ path: path() });
  fixture = await Fixture.open({ transport: (request) => api.transport(request), stop: async () => api.close() });
});
afterEach(async () => {
  await fixture.close();
  rmSync(folder, { recursive: true });
});

/** As etcd's: the server is down while its storage is copied or replaced. */
function reopened(work: () => void): void {
  api.close();
  work();
  api = openApi({ path: path() });
}
const snapshot = () => reopened(() => copyFileSync(path(), join(folder, "snapshot")));
const restore = () => reopened(() => copyFileSync(join(folder, "snapshot"), path()));

const kinds = [
  ["reservations", {}],
  ["Holds", { enable_overlapping_ranges: false }],
] as const;
const red = (more: object = {}) => network("red", { range: "10.0.0.0/24", network_name: "red", ...more });
const held = async () => (await fixture.held("red")).map((line) => line.split(" ").slice(0, 2).join(" "));
const daemon = (node: string, more: Partial<DaemonFixtureOptions> = {}) =>
  fixture.daemon({ node, restoreSettleMs: 6000, ...more });

async function pod(name: string, node = "node1") {
  const spec = { nodeName: node, containers: [{ name: "c", image: "none" }] };
  const { metadata } = await fixture.admin.create(pods, { metadata: { namespace: "default", name }, spec });
  return { container: `c-${name}`, args: podArgs("default", name, metadata.uid) };
}

/** The daemon's watch has told it something newer than the copy: a node hears of its server at least once a minute. */
async function noticed(daemonFixture: DaemonFixture, name: string, node: string): Promise<void> {
  const config = red({ range: "10.9.0.0/24" });
  await patiently(daemonFixture, { ...(await pod(name, node)), config });
}

/** As a runtime: until it is answered with something else than "later". */
async function patiently(
  daemonFixture: DaemonFixture,
  asked: Parameters<typeof given>[1],
): Promise<{ addresses: string[]; laters: string[] }> {
  const laters: string[] = [];
  for (;;) {
    const told: Told = await daemonFixture.ask({ command: "ADD", ...asked });
    if (told.status === 0) return { addresses: told.json.ips.map((ip: { address: string }) => ip.address), laters };
    if (told.json.code !== 11) throw new Error(told.text);
    laters.push(told.json.msg);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe.each(kinds)("after a restore: %s", (_, more) => {
  const config = red(more);

  it("no address of a running pod is given again, by whichever node asks first", async () => {
    const [a, b] = [await daemon("node1"), await daemon("node2")];
    await given(a, { ...(await pod("warm")), config });
    await given(b, { ...(await pod("cold", "node2")), config });
    const p = await pod("p");
    const q = await pod("q", "node2");
    snapshot();
    const { addresses: mine } = await patiently(a, { ...p, config });
    await noticed(b, "later", "node2");
    restore();
    const { addresses, laters } = await patiently(b, { ...q, config });
    expect(laters.join(" ")).toContain("restored from an older copy");
    expect(addresses).not.toEqual(mine);
    const text = ([address = ""]: string[]) => address.replace("/24", "");
    expect(await held()).toEqual(
      expect.arrayContaining(["10.0.0.1 default/warm", `${text(mine)} default/p`, `${text(addresses)} default/q`]),
    );
    expect(await a.registry.metrics()).toContain("holdfast_reasserted_total 1");
    // What was made again is the sandbox's own: its DEL frees it.
    expect(await a.ask({ command: "DEL", ...p, config })).toMatchObject({ status: 0 });
    expect(await held()).not.toContain(`${text(mine)} default/p`);
  });

  it("also where the copy does not know the pods, and the daemon was away: its disk remembers", async () => {
    const a = await daemon("node1");
    await given(a, { ...(await pod("warm")), config });
    snapshot();
    const p = await pod("p");
    expect((await patiently(a, { ...p, config })).addresses).toEqual(["10.0.0.2/24"]);
    await a.stop();
    restore();
    await a.start();
    expect((await patiently(a, { ...(await pod("r")), config })).addresses).toEqual(["10.0.0.3/24"]);
    expect(await held()).toContain("10.0.0.2 default/p");
  });
});

it("a sandbox that was deleted before the restore, or whose DEL waits, holds nothing afterwards", async () => {
  const a = await daemon("node1");
  const [p, q] = [await pod("p"), await pod("q")];
  snapshot();
  await patiently(a, { ...p, config: red() });
  await patiently(a, { ...q, config: red() });
  await a.ask({ command: "DEL", ...p, config: red() });
  api.close();
  expect(await a.ask({ command: "DEL", ...q, config: red() })).toMatchObject({ status: 0 });
  api = openApi({ path: path() });
  restore();
  await patiently(a, { ...(await pod("r")), config: red() });
  await expect.poll(held, { timeout: 30_000 }).toEqual(["10.0.0.1 default/r"]);
});

it("an earlier sandbox that the copy has at the address gives way to the one that lives", async () => {
  const a = await daemon("node1");
  const [p, q] = [await pod("p"), await pod("q")];
  await given(a, { ...p, config: red() });
  snapshot();
  expect((await patiently(a, { ...p, container: "c-p2", config: red() })).addresses).toEqual(["10.0.0.1/24"]);
  restore();
  await patiently(a, { ...(await pod("r")), config: red() });
  expect((await fixture.held("red"))[0]).toBe("10.0.0.1 default/p eth0 c-p2");
  // And where another pod has it since: that of the copy is over, as this node knows.
  snapshot();
  await patiently(a, { ...(await pod("s")), config: red() });
  await a.ask({ command: "DEL", ...p, container: "c-p2", config: red() });
  expect((await patiently(a, { ...q, config: red() })).addresses).toEqual(["10.0.0.1/24"]);
  restore();
  await patiently(a, { ...(await pod("t")), config: red() });
  expect((await fixture.held("red"))[0]).toBe("10.0.0.1 default/q eth0 c-q");
});

describe("an address that was given again all the same", () => {
  it("is an alarm: an event on the pod, a metric, a mark that check finds; neither hold is lost", async () => {
    const a = await daemon("node1");
    const p = await pod("p");
    snapshot();
    await patiently(a, { ...p, config: red() });
    await a.stop(); // node1 is cut off while the others go on
    restore();
    const b = await daemon("node2");
    expect((await patiently(b, { ...(await pod("q", "node2")), config: red() })).addresses).toEqual(["10.0.0.1/24"]);
    await a.start();
    await patiently(a, { ...(await pod("r")), config: red() });
    expect(await held()).toEqual(["10.0.0.1 default/q", "10.0.0.2 default/r"]);
    expect(await a.registry.metrics()).toContain("holdfast_addresses_in_conflict 1");
    const object = (await fixture.admin.list(reservations)).items.find(({ metadata }) =>
      metadata.name?.endsWith("10.0.0.1"),
    );
    expect(object!.metadata.annotations?.["holdfast.io/also-used-by"]).toBe("pod default/p (eth0) on node node1");
    await expect
      .poll(() => fixture.eventsOf("p"), { timeout: 10_000 })
      .toEqual([expect.stringContaining("AddressConflict")]);
    const look = {
      client: fixture.admin,
      systemNamespace: "kube-system",
      now: Date.now,
      signal: AbortSignal.timeout(10_000),
    };
    const findings = examine(await readSnapshot(look)).filter(({ code }) => code === "held-by-another");
    expect(findings.map(({ message }) => message)).toEqual([
      "10.0.0.1 is held by pod default/q (eth0), and pod default/p (eth0) on node node1 used it before the API server lost its hold.",
    ]);
    // STATUS: while addresses can be given it is silence; where not, pods that run suffer too.
    const config = { ...red(), cniVersion: "1.1.0" };
    expect(await a.ask({ command: "STATUS", config })).toMatchObject({ status: 0, text: "" });
    await tellState(fixture.admin, { paused: "a test" });
    for (const [daemonFixture, code] of [
      [a, 51],
      [b, 50],
    ] as const) {
      await expect.poll(async () => (await daemonFixture.ask({ command: "STATUS", config })).json?.code).toBe(code);
    }
    await tellState(fixture.admin);
    await expect.poll(async () => (await a.ask({ command: "STATUS", config })).status).toBe(0);
    // The DEL of the loser frees nothing of the other.
    await a.ask({ command: "DEL", ...p, config: red() });
    expect(await held()).toContain("10.0.0.1 default/q");
    expect(await a.registry.metrics()).toContain("holdfast_addresses_in_conflict 0");
  });
});

describe.each(kinds)("a hand deletes %s", (_, more) => {
  const config = { ...red(more), cniVersion: "1.1.0" };
  const deleteAll = async () => {
    for (const resource of [reservations, holds] as const) {
      for (const { metadata } of (await fixture.admin.list<HeldObject>(resource)).items) {
        await fixture.admin.delete<HeldObject>(resource, { namespace: metadata.namespace!, name: metadata.name! });
      }
    }
  };

  it("and CHECK says so, which asks the ledger", async () => {
    let isAway = false;
    const transport: Transport = async (request) => {
      if (isAway) throw new NotSentError("the test cut the line");
      return api.transport(request);
    };
    const a = await daemon("node1", { transport });
    const p = await pod("p");
    const told = await a.ask({ command: "ADD", ...p, config });
    const check = () => a.ask({ command: "CHECK", ...p, config: { ...config, prevResult: told.json } });
    expect(await check()).toMatchObject({ status: 0 });
    await deleteAll();
    expect(await check()).toMatchObject({ status: 1, json: { code: 100 } });
    // An outage is no reason to tear a pod down.
    isAway = true;
    expect(await check()).toMatchObject({ status: 0 });
  });

  it("and the next start of the daemon makes them again; not those of a pod or a sandbox that is gone", async () => {
    const namespaces = new Map(["p", "q", "r"].map((name) => [`/run/netns/${name}`, name]));
    const fencing = { identify: async (netns: string) => namespaces.get(netns), shut: async () => [] };
    const a = await daemon("node1", { fencing });
    for (const name of ["p", "q", "r"]) await given(a, { ...(await pod(name)), netns: `/run/netns/${name}`, config });
    await deleteAll();
    await a.stop();
    await fixture.admin.delete(pods, { namespace: "default", name: "q" }, { gracePeriodSeconds: 0 });
    namespaces.delete("/run/netns/r");
    await a.start();
    expect(await given(a, { ...(await pod("s")), config })).toEqual(["10.0.0.2/24"]);
    expect(await held()).toEqual(["10.0.0.1 default/p", "10.0.0.2 default/s"]);
  });
});
