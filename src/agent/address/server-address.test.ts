import { describe, expect, test } from "vitest";

import { serverIdentity } from "../../api/vmnet/marks.ts";
import { LeaseLock } from "../../kube/lease.ts";
import { KubeClient } from "../../kube/rest.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { ManualClock, settle } from "../../kube/testing/manual-clock.ts";
import { ServerAddress } from "./server-address.ts";

/** One link, one API server, one clock; agents by name. */
class Story {
  readonly api = new FakeApi();
  readonly clock = new ManualClock();
  readonly told: string[] = [];
  /** A host that is no agent and has the address. */
  stranger: string | undefined;
  readonly agents = new Map<string, { isOn: boolean; isAway: boolean; stop: AbortController; ended: Promise<void> }>();

  start(name: string) {
    const { clock } = this;
    const mac = `02:00:00:00:00:${name}`;
    const identity = serverIdentity(name, mac);
    const state = { isOn: false, isAway: false, stop: new AbortController(), ended: Promise.resolve() };
    const transport = async (request: Parameters<FakeApi["transport"]>[0]) => {
      if (state.isAway) throw new Error("away");
      return this.api.transport(request);
    };
    const client = new KubeClient({ transport, clock });
    const at = { namespace: "kube-system", name: "dhcp.default.pool-1" };
    const lock = new LeaseLock({ client, ...at, identity, leaseDurationMs: 3000, clock });
    const address = new ServerAddress({
      lock,
      identity,
      clock,
      random: () => 0,
      renewMs: 1000,
      leaseDurationMs: 3000,
      handOverMs: 3000,
      probe: async () => {
        const other = [...this.agents].find(([each, { isOn }]) => each !== name && isOn);
        return this.stranger ?? (other && `02:00:00:00:00:${other[0]}`);
      },
      answer: (isOn) => (state.isOn = isOn),
      onForeign: (other) => this.told.push(`${name}: ${other}`),
      onChange: () => {},
      onError: () => {},
    });
    this.agents.set(name, state);
    state.ended = address.run(state.stop.signal);
    return state;
  }

  get holders(): string {
    return [...this.agents].flatMap(([name, { isOn }]) => (isOn ? [name] : [])).join(" ");
  }

  kill(name: string): void {
    const agent = this.agents.get(name)!;
    agent.isAway = true;
    this.agents.delete(name);
  }
}

describe("the server's address", () => {
  test("is the first one's; a killed holder is followed within five seconds, whenever it dies", async () => {
    for (const lateMs of [0, 300, 600, 999]) {
      const story = new Story();
      story.start("0a");
      await settle();
      story.start("0b");
      await story.clock.advance(2000 + lateMs);
      expect(story.holders).toBe("0a");
      story.kill("0a");
      let waitedMs = 0;
      for (; story.holders !== "0b" && waitedMs < 60_000; waitedMs += 100) await story.clock.advance(100);
      expect(waitedMs).toBeLessThan(4500);
    }
  });

  test("stays with a holder that is cut off; the other answers too, and alone when the first is back", async () => {
    const story = new Story();
    const a = story.start("0a");
    await settle();
    story.start("0b");
    await story.clock.advance(2000);
    a.isAway = true;
    await story.clock.advance(10_000);
    expect(story.holders).toBe("0a 0b");
    a.isAway = false;
    await story.clock.advance(3000);
    expect(story.holders).toBe("0b");
  });

  test("is answered for without a Lease where nobody reaches the API server and the link is silent", async () => {
    const story = new Story();
    const a = story.start("0a");
    await settle();
    const b = story.start("0b");
    await story.clock.advance(2000);
    a.isAway = b.isAway = true;
    await story.clock.advance(20_000);
    expect(story.holders).toBe("0a");
    story.kill("0a");
    await story.clock.advance(5000);
    expect(story.holders).toBe("0b");
    b.isAway = false;
    await story.clock.advance(5000);
    expect(story.holders).toBe("0b");
  });

  test("is handed over without a moment of silence", async () => {
    const story = new Story();
    const a = story.start("0a");
    await settle();
    story.start("0b");
    await story.clock.advance(2000);
    a.stop.abort();
    for (let waitedMs = 0; story.holders !== "0b" && waitedMs < 10_000; waitedMs += 50) {
      await story.clock.advance(50);
      expect(story.holders).not.toBe("");
    }
    expect(story.holders).toBe("0b");
    await a.ended;
  });

  test("of one that stops alone is silent after the time for handing over, and nobody has the Lease", async () => {
    const story = new Story();
    const a = story.start("0a");
    await story.clock.advance(1000);
    a.stop.abort();
    await story.clock.advance(2900);
    expect(story.holders).toBe("0a");
    await story.clock.advance(200);
    await a.ended;
    expect(story.holders).toBe("");
    expect(story.clock.pending).toBe(0);
  });

  test("is not taken from a stranger; it is told", async () => {
    const story = new Story();
    story.stranger = "02:00:00:00:00:99";
    story.start("0a");
    await story.clock.advance(3000);
    expect(story.holders).toBe("");
    expect(story.told).toContain("0a: 02:00:00:00:00:99");
    story.stranger = undefined;
    await story.clock.advance(2000);
    expect(story.holders).toBe("0a");
  });
});
