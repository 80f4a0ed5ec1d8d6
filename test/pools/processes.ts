// The controller as a process: it leads, is killed with -9 in the middle of its work, and another takes over.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import * as kinds from "../../src/cluster/resources.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { until } from "../conformance/api/until.ts";
import { command } from "./command.ts";
import { type Fixture, system } from "./fixture.ts";

const root = join(import.meta.dirname, "..", "..");
const events = defineResource<AnyObject>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});
/** A lease lasts 15 s, and two looks take as long as the test asks for. */
const patienceMs = 180_000;

class Controller {
  readonly child: ChildProcess;
  readonly lines: { message: string; what?: string; port?: number }[] = [];
  /** All it said, for the message of a test that fails. */
  text = "";

  constructor(kubeconfig: string, ...flags: string[]) {
    const args = [join(root, "bin", "holdfast.ts"), "controller", "--kubeconfig", kubeconfig, "--metrics-port", "0"];
    this.child = spawn(process.execPath, [...args, "--metrics-host", "127.0.0.1", ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let rest = "";
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.text += chunk.toString();
      const lines = `${rest}${chunk.toString()}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("{")) this.lines.push(JSON.parse(line) as { message: string });
    });
  }

  said(message: string): boolean {
    return this.lines.some((line) => line.message === message);
  }

  async metrics(): Promise<string> {
    const port = this.lines.find(({ what }) => what === "health")?.port;
    return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  }

  /** Told to stop, it must do so without an error. */
  async stop(): Promise<void> {
    expect(await this.end("SIGTERM"), this.text).toBe(0);
  }

  async end(signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    this.child.kill(signal);
    const [code] = (await once(this.child, "exit")) as [number | null];
    return code;
  }
}

export function processStories(fixture: () => Fixture): void {
  const started: Controller[] = [];
  const controller = (...flags: string[]) => {
    const made = new Controller(fixture().server.kubeconfig, ...flags);
    started.push(made);
    return made;
  };

  beforeEach(async () => {
    await fixture().clear();
    await fixture().node("n1");
  });
  afterEach(async () => {
    for (const each of started.splice(0)) await each.end("SIGKILL");
  });

  const shown = async (name: string) => Object.keys((await fixture().readPool(name)).spec.allocations);

  it(
    "killed with -9 in the middle: the next one finishes, and nothing that is in use is lost",
    async () => {
      await fixture().whereaboutsPool("10.0.0.0-24", "10.0.0.0/24");
      const uid = await fixture().pod("shop", "web");
      await fixture().hold("10.0.0.250", { uid });
      for (let index = 1; index <= 40; index++)
        await fixture().hold(`10.0.0.${index}`, { uid: "gone", name: `p${index}` });
      const first = controller("--observe-seconds", "1", "--cooldown-seconds", "0");
      await until("it has begun to free", async () => first.said("freed a leaked address"));
      await first.end("SIGKILL");
      const second = controller("--observe-seconds", "1", "--cooldown-seconds", "1");
      await until("the second leads", async () => second.said("leading"));
      await until(
        "all leaks are gone",
        async () => (await fixture().client.list(kinds.reservations)).items.length === 1,
      );
      await until("the pool shows the one that is left", async () => (await shown("10.0.0.0-24")).join() === "250");
      expect(await fixture().held()).toEqual(["10.0.0.250"]);
      const metrics = await second.metrics();
      expect(metrics).toMatch(/holdfast_pool_used\{[^}]*pool="10.0.0.0-24"[^}]*\} 1\n/);
      expect(metrics).toMatch(/leader_election_master_status\{[^}]*\} 1\n/);
      const told = (await fixture().client.list(events, { namespace: "shop" })).items;
      expect(told.some(({ reason }) => reason === "IPAddressGarbageCollected")).toBe(true);
      await second.stop();
    },
    patienceMs,
  );

  it("check, pools and who as commands", { timeout: patienceMs }, async () => {
    await fixture().whereaboutsPool("10.0.0.0-24", "10.0.0.0/24");
    const uid = await fixture().pod("shop", "web");
    await fixture().hold("10.0.0.5", { uid }, { why: "the lowest" });
    const flags = ["--kubeconfig", fixture().server.kubeconfig];
    const who = await command("who", "10.0.0.5", ...flags);
    expect(who.out).toContain("10.0.0.5 of the network without a name: pod shop/web (net1)");
    expect(who.out).toMatch(/why +the lowest/);
    const pools = await command("pools", ...flags);
    expect(pools.out).toMatch(/10\.0\.0\.0-24 +- +10\.0\.0\.0\/24 +254 +1 +253/);
    const check = await command("check", "-o", "json", ...flags);
    expect(check.code).toBe(1);
    const { findings } = JSON.parse(check.out) as { findings: { code: string }[] };
    expect(findings.map(({ code }) => code).toSorted()).toEqual([
      "hold-without-entry",
      "pool-without-network",
      "state-unknown",
    ]);
    const nowhere = await command("check", "--kubeconfig", "/nonexistent");
    expect(nowhere.code).toBe(1);
    expect(nowhere.err).toContain("/nonexistent");
  });

  it(
    "of two one leads; told to stop, it hands over",
    async () => {
      const [a, b] = [controller(), controller()];
      await until("one leads", async () => a.said("leading") || b.said("leading"));
      const [leader, other] = a.said("leading") ? [a, b] : [b, a];
      expect(other.said("leading")).toBe(false);
      await until("the state is written", async () => {
        const { items } = await fixture().client.list(kinds.configMaps, { namespace: system });
        return items.find(({ metadata }) => metadata.name === "holdfast-state")?.data?.["coexistence"] === "off";
      });
      await leader.stop();
      await until("the other leads", async () => other.said("leading"));
      await other.stop();
    },
    patienceMs,
  );
}
