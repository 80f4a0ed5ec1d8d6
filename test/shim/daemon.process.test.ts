// Both shims with the real daemon: the life of an address as a runtime sees it, and a daemon that dies under load.
import { readdirSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { coldBuildTimeoutMs, ensureShim } from "../../tools/shim/ensure.ts";
import { saidBy } from "./cases/said.ts";
import { type Ended, invoke, Running } from "./invoke.ts";
import { RealDaemon } from "./real-daemon.ts";

const ipam = { type: "holdfast", range: "10.66.0.0/24" };
const config = { cniVersion: "1.1.0", name: "blue", type: "macvlan", ipam };

interface Result {
  readonly ips: readonly { readonly address: string }[];
}

const addressOf = ({ stdout }: Ended) => (JSON.parse(stdout.toString()) as Result).ips[0]?.address;

describe.each([
  ["native", true, 100],
  ["on Node", false, 20],
])("the shim, %s, and `holdfast node`", (_, native, crowd) => {
  let daemon: RealDaemon;
  let path: string;
  beforeAll(async () => {
    path = (await ensureShim({ native })).path;
    daemon = await RealDaemon.start();
  }, coldBuildTimeoutMs);
  afterAll(() => daemon[Symbol.asyncDispose]());

  function call(command: string, pod: string, stdin: unknown = config, sandbox = `sandbox-of-${pod}`): Promise<Ended> {
    return invoke(path, { env: environment(command, pod, sandbox), stdin: JSON.stringify(stdin) });
  }

  function environment(command: string, pod: string, sandbox: string): Record<string, string> {
    return {
      CNI_COMMAND: command,
      CNI_CONTAINERID: sandbox,
      CNI_NETNS: "/run/netns/x",
      CNI_IFNAME: "net1",
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod};K8S_POD_UID=uid-${pod}`,
      CNI_PATH: "/opt/cni/bin",
      HOLDFAST_SOCKET: daemon.socket,
      HOLDFAST_SPOOL: daemon.spool,
    };
  }
  const silence = { status: 0, stdout: Buffer.alloc(0), stderr: "" };

  test("STATUS, ADD, again, CHECK, DEL, again", async () => {
    expect(await call("STATUS", "")).toMatchObject(silence);
    const added = await call("ADD", "web");
    expect(added).toMatchObject({ status: 0, stderr: "" });
    expect(added.stdout.toString()).toMatch(/^\{"cniVersion":"1\.1\.0",.*\}\n$/);
    expect(addressOf(added)).toBe("10.66.0.1/24");
    expect(await daemon.held()).toEqual(["10.66.0.1"]);
    expect(addressOf(await call("ADD", "web"))).toBe("10.66.0.1/24");
    const prevResult: unknown = JSON.parse(added.stdout.toString());
    expect(await call("CHECK", "web", { ...config, prevResult })).toMatchObject(silence);
    expect(await call("DEL", "web")).toMatchObject(silence);
    expect(await call("DEL", "web")).toMatchObject(silence);
    expect(await daemon.held()).toEqual([]);
  });

  test("the daemon's own words come through", async () => {
    const bad = { ...config, cniVersion: "0.4.0", ipam: { ...ipam, range: "10.66.0.0/33" } };
    expect(saidBy(await call("ADD", "web", bad))).toMatchObject({
      cniVersion: "0.4.0",
      code: 7,
      msg: expect.stringContaining("10.66.0.0/33"),
    });
  });

  test("killed under load and started again: every request ends, the same pod keeps its address, none is given twice", async () => {
    const pods = Array.from({ length: crowd }, (__, index) => `p${index}`);
    const first = pods.map((pod) => call("ADD", pod));
    await Promise.any(first); // some are answered, others are in work
    await daemon.kill("SIGKILL");
    const before = await Promise.all(first);
    for (const ended of before) if (ended.status !== 0) expect(saidBy(ended).code).toBe(11);
    await daemon.startProcess();
    const after = await Promise.all(pods.map((pod) => call("ADD", pod)));
    const addresses = after.map(addressOf);
    expect(new Set(addresses).size).toBe(crowd);
    for (const [index, ended] of before.entries())
      if (ended.status === 0) expect(addresses[index]).toBe(addressOf(ended));
    expect(await daemon.held()).toHaveLength(crowd);
    const deleted = await Promise.all(pods.map((pod) => call("DEL", pod)));
    expect(deleted.every(({ status }) => status === 0)).toBe(true);
    expect(await daemon.held()).toEqual([]);
  });

  const kept = () => readdirSync(daemon.spool).filter((name) => name.endsWith(".del"));
  const addressName = (ended: Ended) => addressOf(ended)!.split("/")[0]!;
  const holds = (names: readonly string[]) =>
    vi.waitFor(async () => expect(await daemon.held()).toEqual([...names].sort()), { timeout: 30_000, interval: 100 });

  test("killed, DELs succeed; back again, their addresses are free, and nothing else is", async () => {
    const living = await call("ADD", "living");
    const moved = await call("ADD", "moved", config, "sandbox-1");
    const again = await call("ADD", "again");
    const dead = await Promise.all(["d1", "d2", "d3"].map((pod) => call("ADD", pod)));
    // The same pod in a new sandbox: it has the address now, whatever is said of the old one.
    expect(addressOf(await call("ADD", "moved", config, "sandbox-2"))).toBe(addressOf(moved));
    await daemon.kill("SIGKILL");
    expect(await call("DEL", "moved", config, "sandbox-1")).toMatchObject(silence);
    expect(await call("DEL", "again")).toMatchObject(silence);
    for (const pod of ["d1", "d2", "d3"]) expect(await call("DEL", pod)).toMatchObject(silence);
    expect(kept()).toHaveLength(5);
    expect(await daemon.held()).toHaveLength(3 + dead.length);

    await daemon.startProcess();
    // The same sandbox once more, as podman starts a container: its DEL was before.
    const back = await call("ADD", "again");
    expect(addressOf(back)).toBe(addressOf(again));
    expect(kept()).toEqual([]);
    await holds([living, moved, back].map(addressName));
    const prevResult: unknown = JSON.parse(back.stdout.toString());
    expect(await call("CHECK", "again", { ...config, prevResult })).toMatchObject(silence);
    for (const pod of ["living", "again"]) expect((await call("DEL", pod)).status).toBe(0);
    expect((await call("DEL", "moved", config, "sandbox-2")).status).toBe(0);
    await holds([]);
  });

  test("daemon and plugin killed with -9 again and again: no DEL that succeeded is lost, no living pod loses its address", async () => {
    const pods = Array.from({ length: Math.min(crowd, 30) }, (__, index) => `k${index}`);
    const living = await Promise.all(["l1", "l2", "l3"].map((pod) => call("ADD", pod)));
    await Promise.all(pods.map((pod) => call("ADD", pod)));
    const all = Promise.all(pods.map((pod, index) => delKilled(pod, index)));
    for (let times = 0; times < 3; times++) {
      await daemon.kill("SIGKILL");
      await daemon.startProcess();
    }
    await all;
    await holds(living.map(addressName));
    expect(kept()).toEqual([]);
    for (const pod of ["l1", "l2", "l3"]) expect((await call("DEL", pod)).status).toBe(0);
  });

  /** As a runtime: what was killed is asked again, until one of them succeeds. */
  async function delKilled(pod: string, index: number): Promise<void> {
    for (let times = 0; ; times++) {
      const running = new Running(path, { env: environment("DEL", pod, `sandbox-of-${pod}`), stdin: "{}" });
      if (times < 3) setTimeout(() => running.child.kill("SIGKILL"), (index + times) % 7);
      if ((await running.ended).status === 0) return;
    }
  }

  test("stopped in order, it lets the shim say where to look", async () => {
    await daemon.kill("SIGTERM");
    expect(saidBy(await call("ADD", "web")).msg).toContain("start `holdfast node`");
    await daemon.startProcess();
    expect((await call("STATUS", "")).status).toBe(0);
  });
});
