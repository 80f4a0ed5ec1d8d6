// `holdfast slices`, as a person types it.
import { describe, expect, it, test } from "vitest";

import { rangeTables } from "../check/slices/table.ts";
import { snapshotOf } from "../check/slices/testing/snapshot.ts";
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
        timeoutMs: 600_000,
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

describe("holdfast slices plan", () => {
  const plan = (...argv: string[]) => holdfast({}, "plan", ...argv);

  it("says what a range carries, without a cluster", async () => {
    const { code, out, err } = await plan(
      "--range",
      "10.0.0.0/8",
      "--size",
      "/22",
      "--nodes",
      "5000",
      "--floating",
      "/20",
    );
    expect({ code, err }).toEqual({ code: 0, err: [] });
    expect(out).toEqual([
      "10.0.0.0/8 in slices of /22 for 5000 nodes: it fits",
      "  slices    16380 of 1024 addresses",
      "  nodes     5000 with a slice of their own; 11380 slices left for nodes that join or need more",
      expect.stringMatching(/^ {2}pods {6}10\d\d on a node with one slice; 16773119 in all$/),
      "  floating  10.255.240.0/20, 4096 addresses of no node",
      expect.stringMatching(/^ {2}object {4}NodeSlicePool of about 4\d\d KiB, of 512 KiB/),
    ]);
  });

  it("exits with 1 where it does not fit, and says what would", async () => {
    const { code, out, err } = await plan("--range", "10.0.0.0/20", "--size", "22", "--nodes", "100");
    expect({ code, first: out[0] }).toEqual({
      code: 1,
      first: "10.0.0.0/20 in slices of /22 for 100 nodes: it does not fit",
    });
    expect(out.at(-1)).toContain("write node_slice_size /");
    expect(err).toEqual(["holdfast: 10.0.0.0/20 in slices of /22 does not carry 100 nodes."]);
  });

  it("speaks JSON, exact beyond what a number can say", async () => {
    const { out } = await plan("--range", "fd00::/48", "--size", "/64", "--nodes", "3", "-o", "json");
    expect(JSON.parse(out.join(""))).toMatchObject({
      range: "fd00::/48",
      sliceSize: "/64",
      nodes: 3,
      slices: 65_536,
      carried: 3,
      addressesPerSlice: "18446744073709551616",
      fits: true,
    });
  });

  it("counts what the configuration hands out: ends, excludes, the network's own addresses", async () => {
    const usable = async (...argv: string[]) => {
      const { out } = await plan("--range", "10.0.0.0/24", "--size", "/28", "--nodes", "2", "-o", "json", ...argv);
      const { usable: all, slices } = JSON.parse(out.join("")) as { usable: number; slices: number };
      return [all, slices];
    };
    expect(await usable()).toEqual([254, 16]);
    expect(await usable("--l3")).toEqual([256, 16]);
    expect(await usable("--start", "10.0.0.16", "--end", "10.0.0.47")).toEqual([32, 2]);
    expect(await usable("--exclude", "10.0.0.0/28", "--exclude", "10.0.0.16")).toEqual([238, 15]);
  });

  test.each<[readonly string[], string]>([
    [["--range", "10.0.0.0/16", "--size", "/12", "--nodes", "3"], "cannot be cut into /12"],
    [["--range", "10.0.0.0/16", "--size", "big", "--nodes", "3"], "write a prefix length"],
    [["--range", "10.0.0.0/16", "--size", "/24", "--nodes", "many"], '--nodes "many"'],
    [["--range", "nothing", "--size", "/24", "--nodes", "3"], "nothing"],
    [["--range", "10.0.0.0/16", "--size", "/24", "--nodes", "3", "--floating", "/28"], "floating_slice_size"],
    [["--range", "10.0.0.0/16", "--size", "/24"], "--nodes"],
    [["--range", "10.0.0.0/16", "--size", "", "--nodes", "3"], "--size"],
  ])("%j is not understood", async (argv, words) => {
    const { code, err } = await plan(...argv);
    expect(code).toBe(2);
    expect(err.join("\n")).toContain(words);
  });
});
