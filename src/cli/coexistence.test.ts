// `holdfast coexistence`, as a person types it.
import { describe, expect, it } from "vitest";

import type { CoexistenceReport } from "./coexistence-word.ts";
import type { Coexistence, WordRequest } from "./coexistence.ts";
import { run, type Wiring } from "./program.ts";

const whereabouts = { active: false, reconciler: false, why: [], elsewhere: [] };
const off: CoexistenceReport = {
  word: { word: "off", by: "the controller" },
  inForce: "off",
  why: "",
  unaware: [],
  whereabouts,
  namespace: "kube-system",
};
const on: CoexistenceReport = { ...off, word: { word: "on", by: "anna" }, inForce: "on" };

async function holdfast(reports: readonly CoexistenceReport[], ...argv: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const said: WordRequest[] = [];
  const queue = [...reports];
  const coexistence: Coexistence = {
    status: async () => queue.shift()!,
    say: async (request) => {
      said.push(request);
      return queue.shift()!;
    },
  };
  const wiring = { coexistence } as Wiring;
  const code = await run(
    ["coexistence", ...argv],
    { line: (text) => out.push(text) },
    (text) => err.push(text),
    wiring,
  );
  return { code, out, err: err.join(" "), said };
}

describe("holdfast coexistence", () => {
  it("shows the word, what is in force, what it waits for, and warns of whereabouts", async () => {
    const sign = "DaemonSet kube-system/whereabouts runs whereabouts.";
    const seen = { ...off, whereabouts: { ...whereabouts, active: true, why: [sign] } };
    expect((await holdfast([seen])).out).toEqual([
      "word         off, by the controller",
      "in force     off",
      "pools in     kube-system",
      `whereabouts  ${sign}`,
      "             It may give addresses that are held: stop it, or say on.",
    ]);
    const waits = { ...on, why: "3 holds are left", unaware: ["n1", "n2"] };
    expect((await holdfast([waits], "status")).out.slice(3, 5)).toEqual([
      "waits for    3 holds are left",
      "waits for    daemons that have not seen it yet: n1, n2",
    ]);
    expect(JSON.parse((await holdfast([on], "status", "-o", "json")).out[0]!)).toEqual(on);
  });

  it("on waits, and says when whereabouts may be started", async () => {
    const done = await holdfast([off, on], "on");
    expect(done).toMatchObject({ code: 0, said: [{ word: "on", timeoutMs: 120_000 }] });
    expect(done.out.at(-1)).toBe("whereabouts may be started.");
    const late = await holdfast([off, { ...on, unaware: ["n1"] }], "on", "--timeout-seconds", "5");
    expect(late).toMatchObject({ code: 1, err: expect.stringContaining("not in force yet") });
  });

  it("off does not wait unless it is told to", async () => {
    const waits = { ...off, inForce: "on" as const, why: "off takes effect later: 2 pools are not adopted yet" };
    const done = await holdfast([on, waits], "off");
    expect(done).toMatchObject({ code: 0, said: [{ word: "off", timeoutMs: 0 }] });
    expect(done.out).toContain("waits for    off takes effect later: 2 pools are not adopted yet");
  });

  it.each(["on", "off"] as const)("%s --dry-run says nothing to the cluster", async (word) => {
    const { code, said, out } = await holdfast([word === "on" ? off : on], word, "--dry-run");
    expect({ code, said }).toEqual({ code: 0, said: [] });
    expect(out.at(-1)).toMatch(/^Would /);
  });

  it("on finds the namespace in which whereabouts keeps its pools, and records it; --namespace overrides", async () => {
    const other = (namespace: string) => ({ workload: `DaemonSet ${namespace}/whereabouts`, namespace });
    const seen = (...namespaces: string[]) => ({
      ...off,
      whereabouts: { ...whereabouts, elsewhere: namespaces.map(other) },
    });
    const moved = { ...on, namespace: "multus", word: { ...on.word!, namespace: "multus" } };
    const done = await holdfast([seen("multus", "multus"), moved], "on");
    expect(done).toMatchObject({ code: 0, said: [{ word: "on", namespace: "multus" }] });
    expect(done.out).toContain("pools in     multus");
    const [half] = [{ ...moved, namespace: "kube-system" }];
    expect(await holdfast([seen("multus"), half], "on")).toMatchObject({ code: 1 });
    const dry = await holdfast([seen("multus")], "on", "--dry-run");
    expect([dry.said, dry.out.at(-1)]).toEqual([[], expect.stringContaining("Pools go to multus.")]);
    const chosen = await holdfast([seen("multus", "red"), moved], "on", "--namespace", "red");
    expect(chosen.said).toMatchObject([{ namespace: "red" }]);
    const both = await holdfast([seen("multus", "red")], "on");
    expect(both).toMatchObject({ code: 1, said: [], err: expect.stringContaining("which of multus, red") });
    const beside = { ...seen("multus"), whereabouts: { ...seen("multus").whereabouts, reconciler: true } };
    expect(await holdfast([beside], "on")).toMatchObject({ code: 1, said: [] });
    expect((await holdfast([moved, off], "off")).said).toEqual([expect.not.objectContaining({ namespace: "multus" })]);
  });
});
