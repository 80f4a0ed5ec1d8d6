// `holdfast slices`, as a person types it.
import { describe, expect, it, test } from "vitest";

import { rangeTables } from "../slices/table.ts";
import { snapshotOf } from "../slices/testing/snapshot.ts";
import { run, type Wiring } from "./program.ts";
import type { ListSlices, ReleaseRequest, Slices } from "./slices.ts";

async function holdfast(slices: Partial<Slices>, ...argv: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const wiring = { slices } as Wiring;
  const code = await run(["slices", ...argv], { line: (text) => out.push(text) }, (text) => err.push(text), wiring);
  return { code, out, err };
}

const tables = rangeTables(snapshotOf());
const list: ListSlices = async () => tables;

describe("holdfast slices", () => {
  it("prints a table for each range, with a line between", async () => {
    const { code, out } = await holdfast({ list: async () => [...tables, ...tables] });
    expect({ code, lines: out.length, blank: out.indexOf("") }).toEqual({ code: 0, lines: 11, blank: 5 });
    expect(out[4]).toBe("  n1    10.0.0.0/24  active  0     256   -     12s");
  });

  it("prints JSON", async () => {
    const { out } = await holdfast({ list }, "-o", "json");
    expect(JSON.parse(out.join(""))).toEqual({ ranges: tables });
  });

  test.each<[readonly string[], string]>([
    [[], "No range is cut into slices: node_slice_size asks for it."],
    [["--node", "n9"], "There are no slices of node n9."],
    [["list", "--node", "n9", "--network", "red"], "There are no slices of node n9 and network red."],
  ])("%j where there is nothing", async (argv, line) => {
    const asked: unknown[] = [];
    const none: ListSlices = async (options) => {
      asked.push(options);
      return [];
    };
    expect(await holdfast({ list: none }, ...argv)).toEqual({ code: 0, out: [line], err: [] });
    expect(asked).toMatchObject([{ systemNamespace: "kube-system", ...(argv.length > 0 && { node: "n9" }) }]);
  });

  it("a word that is no command is refused", async () => {
    expect(await holdfast({ list }, "n1")).toMatchObject({ code: 2, out: [] });
  });
});

describe("holdfast slices release", () => {
  const asked = async (...argv: string[]) => {
    const requests: ReleaseRequest[] = [];
    const release: Slices["release"] = async (request) => void requests.push(request);
    return { ...(await holdfast({ release }, "release", ...argv)), requests };
  };

  it("asks for nothing that was not said: unconfirmed, watched for 90 s, waited for", async () => {
    expect((await asked("n1")).requests).toEqual([
      {
        systemNamespace: "kube-system",
        node: "n1",
        dryRun: false,
        isConfirmed: false,
        wait: true,
        observeMs: 90_000,
        timeoutMs: 300_000,
      },
    ]);
  });

  it("hands over what was said, before or behind the node", async () => {
    const flags = ["--yes-the-node-is-off", "--no-wait", "--dry-run", "--observe-seconds", "5", "--kubeconfig", "k"];
    const expected = [{ node: "n1", isConfirmed: true, wait: false, dryRun: true, observeMs: 5000, kubeconfig: "k" }];
    expect((await asked("n1", ...flags)).requests).toMatchObject(expected);
    expect((await asked(...flags, "n1")).requests).toMatchObject(expected);
  });

  test.each<[readonly string[], string]>([
    [[], "missing required argument"],
    [[""], "the node has no name"],
    [["n1", "n2"], "too many arguments"],
    [["n1", "--network", "blue"], "unknown option '--network'"],
    [["n1", "--yes"], "unknown option '--yes'"],
    [["n1", "--observe-seconds", "soon"], '--observe-seconds "soon"'],
  ])("%j is not understood, and nothing is released", async (argv, words) => {
    const { code, err, requests } = await asked(...argv);
    expect({ code, requests }).toEqual({ code: 2, requests: [] });
    expect(err.join("\n")).toContain(words);
  });
});
