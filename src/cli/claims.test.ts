// `holdfast claims` and `holdfast adopt`, as a person types them.
import { describe, expect, it, test } from "vitest";

import type { AdoptRequest } from "./adopt.ts";
import type { Claims, ClaimsFound } from "./claims.ts";
import { run, type Wiring } from "./program.ts";

async function holdfast(wiring: Partial<Wiring>, ...argv: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(argv, { line: (text) => out.push(text) }, (text) => err.push(text), wiring as Wiring);
  return { code, out, err };
}

const row = {
  namespace: "shop",
  claim: "db.blue",
  vm: "db",
  nic: "blue",
  network: "blue-net",
  ips: ["10.0.0.7/24"],
  state: "bound",
  pods: ["virt-launcher-db-x"],
  nodes: ["n1"],
  ageSeconds: 60,
} as const;

describe("holdfast claims", () => {
  const listing = async (found: Partial<ClaimsFound>, ...argv: string[]) => {
    const asked: unknown[] = [];
    const claims: Partial<Claims> = {
      list: async (request) => {
        asked.push(request);
        return { rows: [], details: [], ...found };
      },
    };
    return { ...(await holdfast({ claims: claims as Claims }, "claims", ...argv)), asked };
  };

  it("prints a table, or JSON", async () => {
    const { code, out } = await listing({ rows: [row] });
    expect({ code, out }).toEqual({
      code: 0,
      out: [
        "NAMESPACE  CLAIM    VM  NETWORK   IPS          STATE  PODS                NODES  AGE",
        "shop       db.blue  db  blue-net  10.0.0.7/24  bound  virt-launcher-db-x  n1     60s",
      ],
    });
    expect(JSON.parse((await listing({ rows: [row] }, "-o", "json")).out.join(""))).toEqual({ claims: [row] });
  });

  test.each<[readonly string[], object]>([
    [[], { namespace: "default" }],
    [["-n", "shop"], { namespace: "shop" }],
    [["list", "-n", "shop", "db"], { namespace: "shop", name: "db" }],
    [["-A"], { name: undefined }],
  ])("%j asks for %j", async (argv, expected) => {
    const { asked } = await listing({ rows: [row] }, ...argv);
    expect(asked).toMatchObject([{ systemNamespace: "kube-system", ...expected }]);
    if (argv.includes("-A")) expect(asked[0]).not.toHaveProperty("namespace");
  });

  it("one that is not there ends with 1; both scopes at once with 2", async () => {
    expect(await listing({}, "db.blue")).toMatchObject({ code: 1, err: [expect.stringContaining("no claim db.blue")] });
    expect(await listing({}, "-n", "a", "-A")).toMatchObject({ code: 2, asked: [] });
    expect(await listing({}, "a", "b")).toMatchObject({ code: 2, asked: [] });
  });

  it("a takeover is neither dry nor beside, unless it was said; export prints a document", async () => {
    const asked: unknown[] = [];
    const claims = {
      takeover: async (request: object) => void asked.push(request),
      export: async () => ({ kind: "holdfast-claims" }),
    } as unknown as Claims;
    await holdfast({ claims }, "claims", "takeover");
    await holdfast({ claims }, "claims", "takeover", "--dry-run", "--beside", "-n", "shop");
    expect(asked).toMatchObject([
      { dryRun: false, beside: false },
      { dryRun: true, beside: true, namespace: "shop" },
    ]);
    const { out } = await holdfast({ claims }, "claims", "export");
    expect(JSON.parse(out.join("\n"))).toEqual({ kind: "holdfast-claims" });
  });

  it("help has examples", async () => {
    expect((await holdfast({}, "claims", "list", "--help")).out.join("\n")).toContain(
      "holdfast claims -n shop db.blue",
    );
    expect((await holdfast({}, "adopt", "--help")).out.join("\n")).toContain("holdfast adopt --file shop-claims.json");
  });
});

describe("holdfast adopt", () => {
  const uid = "5956a54c-989c-414c-b5ba-55cae03a5ada";
  const adopting = async (...argv: string[]) => {
    const asked: AdoptRequest[] = [];
    const adopt = async (request: AdoptRequest) => void asked.push(request);
    return { ...(await holdfast({ adopt }, "adopt", ...argv)), asked };
  };

  test.each<[readonly string[], object]>([
    [["shop/db", "--from", uid], { kind: "owner", namespace: "shop", vm: "db", from: uid, dryRun: false }],
    [["--from", uid, "shop/db", "--network", "blue", "--dry-run"], { kind: "owner", network: "blue", dryRun: true }],
    [["--file", "f.json"], { kind: "file", file: "f.json" }],
    [["shop/db", "--file", "f.json"], { kind: "file", file: "f.json", namespace: "shop", vm: "db" }],
  ])("%j", async (argv, expected) => {
    const { code, asked } = await adopting(...argv);
    expect({ code, asked }).toMatchObject({ code: 0, asked: [{ systemNamespace: "kube-system", ...expected }] });
  });

  test.each<[readonly string[], string]>([
    [[], "give one of --from"],
    [["shop/db"], "give one of --from"],
    [["shop/db", "--from", uid, "--file", "f"], "give one of --from"],
    [["--from", uid], "say which VM"],
    [["db", "--from", uid], '"db" is no VM'],
    [["a/b/c", "--from", uid], '"a/b/c" is no VM'],
    [["shop/db", "--from", "the old one"], "is no UID"],
  ])("%j is not understood, and nothing is adopted", async (argv, words) => {
    const { code, err, asked } = await adopting(...argv);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(err.join("\n")).toContain(words);
  });
});
