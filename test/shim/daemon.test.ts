// Both shims with the real daemon: the life of an address as a runtime sees it, and a daemon that dies under load.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { coldBuildTimeoutMs, ensureShim } from "../../tools/shim/ensure.ts";
import { saidBy } from "./cases/said.ts";
import { type Ended, invoke } from "./invoke.ts";
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

  function call(command: string, pod: string, stdin: unknown = config): Promise<Ended> {
    const env = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: `sandbox-of-${pod}`,
      CNI_NETNS: "/run/netns/x",
      CNI_IFNAME: "net1",
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod};K8S_POD_UID=uid-${pod}`,
      CNI_PATH: "/opt/cni/bin",
      HOLDFAST_SOCKET: daemon.socket,
    };
    return invoke(path, { env, stdin: JSON.stringify(stdin) });
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

  test("stopped in order, it lets the shim say where to look", async () => {
    await daemon.kill("SIGTERM");
    expect(saidBy(await call("ADD", "web")).msg).toContain("start `holdfast node`");
    await daemon.startProcess();
    expect((await call("STATUS", "")).status).toBe(0);
  });
});
