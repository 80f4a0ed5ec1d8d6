// `holdfast up --dhcp` as a process in a network namespace, and an unmodified client behind the same switch. The pool
// is an administrator's, of a network of another namespace: controller and agent trust the same ones.
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { Wire } from "../kernel/wire.ts";
import { attempt, run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import { isTrue, messageOf } from "./leader-fixture.ts";

const launcher = join(import.meta.dirname, "..", "..", "holdfast");
const timeout = 120_000;
const network = "shop/blue";

let wire: Wire;
let folder: string;
let running: Up | undefined;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-up-dhcp-"));
  wire = await Wire.of([{ name: "up" }, { name: "vm0" }]);
  await wire.ip("up", "link", "set", "lo", "up");
});
afterEach(async () => {
  await running?.stop("SIGKILL");
  await wire.remove();
  rmSync(folder, { recursive: true, force: true });
});

const inside = (host: string, ...words: string[]) => ["nsenter", `--net=${wire.netns(host)}`, "--", ...words];

/** One run of `up` in its namespace. */
class Up {
  readonly #child;
  readonly #ended: Promise<unknown>;
  printed = "";

  constructor(...more: string[]) {
    const args = inside("up", launcher, "up", "--data", folder, "--port", "0", "--no-example", ...more);
    this.#child = spawn(args[0]!, args.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.on("data", (text) => (this.printed += String(text)));
    this.#ended = new Promise((resolve) => this.#child.once("close", resolve));
  }

  says(text: RegExp): Promise<RegExpExecArray> {
    const says = async () => text.exec(this.printed) ?? undefined;
    return until(says, { what: `${String(text)} in ${this.printed}`, timeoutMs: 60_000 });
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    await this.#ended;
  }
}

function start(...more: string[]): Up {
  running = new Up(...more);
  return running;
}

/** The database of an `up` that does not run. */
async function stored<T>(use: (client: KubeClient) => Promise<T>): Promise<T> {
  const api = openApi({ path: join(folder, "api.sqlite") });
  try {
    return await use(new KubeClient({ transport: api.transport }));
  } finally {
    api.close();
  }
}

const pool = { namespace: "default", name: "blue" };
const poolIs = () => stored((client) => client.get(kinds.managedPools, pool));

/** A first run makes the kinds. */
async function prepare(mac: string): Promise<void> {
  const first = start();
  await first.says(/Waiting for CNI requests/);
  await first.stop("SIGTERM");
  await stored(async (client) => {
    await client.create(kinds.namespaces, { metadata: { name: "shop" } });
    const config = JSON.stringify({ cniVersion: "1.0.0", name: "blue", type: "bridge" });
    await client.create(kinds.networkAttachmentDefinitions, {
      metadata: { namespace: "shop", name: "blue" },
      spec: { config },
    });
    const ipv4Config = { cidr: "10.7.0.0/24", serverIP: "10.7.0.2", pool: { start: "10.7.0.10", end: "10.7.0.19" } };
    await client.create(kinds.managedPools, { metadata: pool, spec: { networkName: network, ipv4Config } });
    const networkConfigs = [{ networkName: network, macAddress: mac }];
    await client.create(kinds.networkConfigs, {
      metadata: { namespace: "shop", name: "printer" },
      spec: { vmName: "printer", networkConfigs },
    });
  });
}

async function holdfast(...words: string[]): Promise<string> {
  const { stdout, stderr } = await attempt(
    inside("up", launcher, ...words, "--kubeconfig", join(folder, "kubeconfig")),
  );
  return stdout === "" ? `failed: ${stderr}` : stdout;
}

test("a client gets its address; leases, check, labels and conditions know the agent", { timeout }, async () => {
  const { mac } = await wire.link("vm0");
  await prepare(mac);
  const up = start("--dhcp", `${network}=eth0`);
  const [, port = ""] = await up.says(/its leases and metrics: http:\/\/127\.0\.0\.1:(\d+)\/leases/);
  const page = (path: string) =>
    run(inside("up", "busybox", "wget", "-q", "-O", "-", `http://127.0.0.1:${port}/${path}`));
  const isServed = async () => ((await page("leases")).includes(mac) ? true : undefined);
  await until(isServed, { what: "the agent to serve the printer", timeoutMs: 60_000 });

  const script = join(folder, "script");
  writeFileSync(script, "#!/bin/sh\nexit 0\n");
  chmodSync(script, 0o755);
  const got = await run(inside("vm0", "sh", "-c", `busybox udhcpc -f -q -n -t 10 -T 1 -i eth0 -s ${script} 2>&1`));
  expect(got).toMatch(/lease of 10\.7\.0\.1\d obtained from 10\.7\.0\.2/);
  const [, address = ""] = /lease of (\S+) obtained/.exec(got)!;

  expect(await holdfast("leases")).toMatch(new RegExp(`${address.replaceAll(".", "\\.")} +${mac} .*bound`));
  expect(JSON.stringify(JSON.parse(await page("leases")))).toContain(`"address":"${address}"`);
  expect(await page("metrics")).toMatch(/holdfast_dhcp_\w+/);
  const isReady = async () => (/vm-pool-agents|failed/.test(await holdfast("check")) ? undefined : true);
  await until(isReady, { what: "check to see the agent", timeoutMs: 60_000 });
  await up.stop("SIGTERM");
  const there = await poolIs();
  expect(isTrue(there, "AgentReady")).toBe(true);
  expect(messageOf(there, "AgentReady")).toContain("answers on interface eth0");
  const { labels } = (
    await stored((client) => client.get(kinds.networkAttachmentDefinitions, { namespace: "shop", name: "blue" }))
  ).metadata;
  expect(labels).toMatchObject({
    "network.harvesterhci.io/ippool-namespace": "default",
    "network.harvesterhci.io/ippool-name": "blue",
  });

  const other = start("--dhcp", `${network}=eth7`);
  const isFound = async () => {
    const said = await holdfast("check");
    return /vm-pool-agents[\s\S]*does not answer on interface eth7/.test(said) ? true : undefined;
  };
  await until(isFound, { what: "check to miss the interface", timeoutMs: 60_000 });
  await other.stop("SIGTERM");
  expect(isTrue(await poolIs(), "AgentReady")).toBe(false);
  const bare = start();
  const isTold = async () => {
    const said = await holdfast("check");
    return said.includes(`start it with --dhcp ${network}=INTERFACE`) ? true : undefined;
  };
  await until(isTold, { what: "check to say how to serve it", timeoutMs: 60_000 });
  await bare.stop("SIGTERM");
});
