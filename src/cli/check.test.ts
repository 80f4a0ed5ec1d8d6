// `holdfast check`, `pools` and `who`, as a person types them.
import { describe, expect, it } from "vitest";

import type { CheckedFinding, CheckOptions } from "./check.ts";
import { run, type Wiring } from "./program.ts";

async function holdfast(wiring: Partial<Wiring>, ...argv: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(argv, { line: (text) => out.push(text) }, (text) => err.push(text), wiring as Wiring);
  return { code, out, err };
}

const leak: CheckedFinding = {
  code: "leaked",
  severity: "error",
  objects: ["Hold shop/x"],
  message: "10.0.0.5 is held.",
  remedy: "Wait.",
};

describe("holdfast check", () => {
  it("exits with 0 where all fits together", async () => {
    const { code, out } = await holdfast({ check: async () => [] }, "check");
    expect({ code, out }).toEqual({ code: 0, out: ["Pools, holds, networks, pods and claims fit together."] });
  });

  it("exits with 1 and says what to do", async () => {
    const { code, out, err } = await holdfast({ check: async () => [leak] }, "check");
    expect(out).toEqual(["error leaked: 10.0.0.5 is held.", "  objects: Hold shop/x", "  remedy: Wait."]);
    expect({ code, err }).toEqual({ code: 1, err: ["holdfast: 1 finding needs attention."] });
  });

  it("exits with 0 where everything was repaired, with 1 where something is left", async () => {
    const repaired = (isDone: boolean) => ({ ...leak, repaired: { isDone, words: "It is free now." } });
    const done = await holdfast({ check: async () => [repaired(true)] }, "check", "--repair");
    expect({ code: done.code, last: done.out.at(-1) }).toEqual({ code: 0, last: "  repaired: It is free now." });
    expect((await holdfast({ check: async () => [repaired(false)] }, "check", "--repair")).code).toBe(1);
  });

  it("what passes by itself is printed, and leaves the exit code alone", async () => {
    const { code, out } = await holdfast({ check: async () => [{ ...leak, severity: "info" }] }, "check");
    expect({ code, first: out[0] }).toEqual({ code: 0, first: "info leaked: 10.0.0.5 is held." });
  });

  it("prints JSON, and hands its options over in milliseconds", async () => {
    const asked: CheckOptions[] = [];
    const check = async (options: CheckOptions) => {
      asked.push(options);
      return [leak];
    };
    const { out } = await holdfast({ check }, "check", "-o", "json", "--repair", "--observe-seconds", "5");
    expect(JSON.parse(out.join(""))).toEqual({ findings: [leak] });
    expect(asked[0]).toMatchObject({
      repair: true,
      observeMs: 5000,
      cooldownMs: 30_000,
      systemNamespace: "kube-system",
    });
  });

  it("refuses a time that is none", async () => {
    const { code, err } = await holdfast({ check: async () => [] }, "check", "--observe-seconds", "soon");
    expect({ code, err }).toEqual({ code: 2, err: [expect.stringContaining('--observe-seconds "soon"')] });
  });
});

describe("holdfast who and pools", () => {
  const nobody = async () => ({ holds: [], unheld: [] });

  it.each([
    [
      "10.0.0.9",
      "nobody holds 10.0.0.9, and no network attachment definition of ours has it in a range: `holdfast pools` lists the ranges.",
    ],
    ["10.0.0.0/28", "nobody holds an address of 10.0.0.0/28."],
    ["shop/web", "nobody holds shop/web, or it is no MAC, pod, claim or VM that holds anything."],
  ])("that nobody holds %s is told with exit code 1", async (asked, words) => {
    const { code, err } = await holdfast({ who: nobody }, "who", asked);
    expect({ code, err }).toEqual({ code: 1, err: [`holdfast: ${words}`] });
  });

  it.each(["10.0.0.300", "10.0.0", "10.0.0.0/40", "10.0.0.9-10.0.0.1", "fd00::1::2"])(
    "%s, which is no address, is told with exit code 2, and nobody is asked",
    async (asked) => {
      const who = () => Promise.reject(new Error("asked"));
      const { code, err } = await holdfast({ who }, "who", asked);
      expect({ code, err }).toEqual({ code: 2, err: [expect.stringContaining(asked.split("/")[0]!.split("-")[0]!)] });
    },
  );

  it("an address that is free, or never handed out, is told as that", async () => {
    const gateway = {
      state: "reserved",
      words: "it is the gateway",
      pool: "kube-system/p",
      network: "",
      definitions: ["shop/a", "shop/b"],
    } as const;
    const { code, out } = await holdfast({ who: async () => ({ holds: [], unheld: [gateway] }) }, "who", "10.0.0.1");
    expect({ code, out }).toEqual({
      code: 0,
      out: ["10.0.0.1 of the network without a name: nobody, it is the gateway (shop/a, shop/b; pool kube-system/p)"],
    });
  });

  it("leases of a pool that is not there are told with exit code 1, and of one that is as they are", async () => {
    const missing = await holdfast({ leases: async () => undefined }, "leases", "shop/none");
    expect([missing.code, missing.err]).toEqual([1, [expect.stringContaining("there is no pool shop/none")]]);
    const row = {
      address: "10.0.0.7",
      mac: "02:00:00:00:00:01",
      vm: "shop/web",
      network: "shop/net",
      pool: "shop/blue",
    };
    const rows = [{ ...row, state: "bound", until: "", note: "" }] as const;
    const asked: unknown[] = [];
    const leases = async (_: unknown, pool?: string) => {
      asked.push(pool);
      return rows;
    };
    const { code, out } = await holdfast({ leases }, "leases", "shop/blue");
    expect([code, out[1]?.split(/ +/)]).toEqual([0, [...Object.values(row), "bound"]]);
    const json = await holdfast({ leases }, "leases", "-o", "json");
    expect(JSON.parse(json.out.join(""))).toEqual({ leases: rows });
    expect(asked).toEqual(["shop/blue", undefined]);
  });

  it("a sliced range says so", async () => {
    const common = { namespace: "kube-system", network: "blue", total: "65534", used: "1", free: "65533" };
    const rows = [{ ...common, name: "blue", range: "10.0.0.0/16", definitions: [], sliceSize: "/24" }];
    expect((await holdfast({ pools: async () => rows }, "pools")).out[1]).toContain("10.0.0.0/16 in /24");
  });

  it("columns are as wide as what is in them", async () => {
    const common = { namespace: "kube-system", network: "", total: "254", used: "1", free: "253" };
    const rows = [{ ...common, name: "10.0.0.0-24", range: "10.0.0.0/24", definitions: ["shop/blue"] }];
    const { out } = await holdfast({ pools: async () => rows }, "pools");
    expect(out).toEqual([
      "NAMESPACE    POOL         NETWORK  RANGE        TOTAL  USED  FREE  USED BY",
      "kube-system  10.0.0.0-24  -        10.0.0.0/24  254    1     253   shop/blue",
    ]);
  });
});
