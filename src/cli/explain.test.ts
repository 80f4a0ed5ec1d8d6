// The command line, as a person types it.
import { describe, expect, it } from "vitest";

import { ListenError } from "../kube/process/listen.ts";
import { run, type Wiring } from "./program.ts";

async function holdfast(...argv: string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(argv, { line: (text) => out.push(text) }, (text) => err.push(text), {} as Wiring);
  return { code, out, err };
}

describe("holdfast explain", () => {
  it("gives the address and the reasons", async () => {
    const { code, out } = await holdfast(
      "explain",
      "--range",
      "10.0.0.0/29",
      "--gateway",
      "10.0.0.1",
      "--held",
      "10.0.0.2=default/web",
      "--exclude",
      "10.0.0.3",
    );
    expect(code).toBe(0);
    expect(out).toEqual([
      "10.0.0.4  (lowest)",
      "  10.0.0.1  reserved: gateway",
      "  10.0.0.2  held by pod default/web (eth0)",
      "  10.0.0.3  excluded",
      "10.0.0.0/29: 6 usable, 3 free, 1 held, 2 excluded or reserved",
    ]);
  });

  it("reads ranges as whereabouts does", async () => {
    expect((await holdfast("explain", "--range", "10.0.0.10-10.0.0.50/24")).out[0]).toBe("10.0.0.10  (lowest)");
    expect((await holdfast("explain", "--range", "010.000.000.077/29")).out[0]).toBe("10.0.0.73  (lowest)");
  });

  it("hands out of a node's slice, whose ends are addresses like any other, but not the network's own", async () => {
    const lowest = async (...argv: string[]) => (await holdfast("explain", "--range", "10.0.0.0/16", ...argv)).out[0];
    expect(await lowest("--slice", "10.0.1.0/24")).toBe("10.0.1.0  (lowest)");
    expect(await lowest("--slice", "10.0.0.0/24")).toBe("10.0.0.1  (lowest)");
    expect(await lowest("--slice", "10.0.0.0/24", "--l3")).toBe("10.0.0.0  (lowest)");
    expect(await lowest("--slice", "10.0.1.0/24", "--start", "10.0.1.9")).toBe("10.0.1.9  (lowest)");
    const { code, err } = await holdfast("explain", "--range", "10.0.0.0/16", "--slice", "10.1.0.0/24");
    expect({ code, err }).toEqual({ code: 2, err: [expect.stringContaining("--slice 10.1.0.0/24 has no address")] });
  });

  it("gives a pod what it has", async () => {
    const { out } = await holdfast("explain", "--range", "10.0.0.0/24", "--held", "10.0.0.9=a/b", "--for", "a/b");
    expect(out[0]).toBe("10.0.0.9  (yours)");
  });

  it("speaks JSON for scripts", async () => {
    const { out } = await holdfast("explain", "--range", "fd00::/64", "--exclude", "fd00::1", "--json");
    expect(JSON.parse(out[0]!)).toEqual({
      address: "fd00::2",
      why: "lowest",
      early: false,
      trace: ["fd00::1  excluded"],
    });
  });

  it("exits 1 on a refusal, with the reason", async () => {
    const { code, out, err } = await holdfast("explain", "--range", "10.0.0.0/30", "--want", "10.0.0.9");
    expect(code).toBe(1);
    expect(out[0]).toBe("refused: not-in-range");
    expect(err[0]).toContain("ask for one of those");
  });

  it.each([
    [["--range", "10.0.0.0/33"], "/33 is no prefix length for 10.0.0.0"],
    [["--range", "10.0.0.0"], "has no prefix length"],
    [["--range", "10.0.0.20-10.0.0.10/24"], "starts at 10.0.0.20 and ends at 10.0.0.10, below it"],
    [["--range", "10.0.0.0/24", "--start", "10.1.0.1"], "the start 10.1.0.1 of the pool 10.0.0.0/24"],
    [["--range", "10.0.0.0/24", "--held", "10.0.0.1"], "not of the form address=namespace/pod"],
    [
      ["--range", "10.0.0.0/24", "--held", "10.0.0.1=a/b", "--held", "10.0.0.1=a/c"],
      "10.0.0.1 is held by pod a/b (eth0)",
    ],
    [["--range", "10.0.0.0/24", "--for", "web"], "is no pod: write namespace/name"],
    [["--range", "10.0.0.0/24", "--want", "10.0.0.1", "--prefer", "10.0.0.2"], "exclude each other"],
    [["--range", "10.0.0.0/24", "--lines", "few"], "is no number of lines"],
    [["--range", "10.0.0.0/24", "--gateway", "10.9.0.1"], "the gateway 10.9.0.1 is outside 10.0.0.0/24"],
    [["--range", "10.0.0.0/24", "--strategy", "best"], "Allowed choices are"],
    [[], "required option '--range <cidr>' not specified"],
  ])("exits 2 on %o and says what is wrong", async (args, complaint) => {
    const { code, out, err } = await holdfast("explain", ...args);
    expect(code).toBe(2);
    expect(out).toEqual([]);
    expect(err.join("\n")).toContain(complaint);
  });
});

describe("holdfast", () => {
  it("without a command prints its help and exits 2", async () => {
    const { code, out } = await holdfast();
    expect(code).toBe(2);
    expect(out.join("\n")).toContain("explain [options]");
  });

  it("refuses an unknown command", async () => {
    expect(await holdfast("nope")).toMatchObject({ code: 2 });
  });

  it("answers --help with 0", async () => {
    expect((await holdfast("--help")).code).toBe(0);
    expect((await holdfast("explain", "--help")).out.join("\n")).toContain("--range <cidr>");
  });
});

describe("holdfast up", () => {
  it.each([
    ["--port", "x"],
    ["--port", "65536"],
    ["--port", "-1"],
    ["--port", ""],
  ])("refuses %s %j", async (flag, value) => {
    const { code, err } = await holdfast("up", `${flag}=${value}`);
    expect(code).toBe(2);
    expect(err.join("\n")).toContain("is no number that it takes: give 0 to 65535");
  });
});

describe("holdfast tour", () => {
  it("tells what an address goes through", async () => {
    const { code, out } = await holdfast("tour");
    expect(code).toBe(0);
    const story = out.join("\n");
    expect(story).toContain("web-0's sandbox restarts  10.77.0.2");
    expect(story).toContain("db-0 starts               10.77.0.5");
    expect(story).toContain("job-2 starts              refused: 10.77.0.0/29 has no free address");
  });
});

it("an error that no command expects is told without its stack", async () => {
  const err: string[] = [];
  const wiring = { pools: () => Promise.reject(new TypeError("x is not a function")) } as unknown as Wiring;
  const code = await run(["pools"], { line: () => {} }, (text) => err.push(text), wiring);
  expect([code, err[0]]).toEqual([1, "holdfast: x is not a function"]);
  expect(err.join("\n")).not.toContain("    at ");
  expect(err[1]).toContain("HOLDFAST_TRACE=1");
});

it("an address that cannot be listened on is told with the flag that helps, and no talk of a defect", async () => {
  const words = "0.0.0.0:9477 is in use by another program: give another --metrics-port.";
  const err: string[] = [];
  const wiring = { controller: () => Promise.reject(new ListenError(words)) } as unknown as Wiring;
  const code = await run(["controller"], { line: () => {} }, (text) => err.push(text), wiring);
  expect([code, err]).toEqual([1, [`holdfast: ${words}`]]);
});
