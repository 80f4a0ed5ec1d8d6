import { describe, expect, it } from "vitest";

import { auditClaims, type ClaimAccounts } from "./audit.ts";

const claimOf = (vm: string) => `${vm}.net`;
const right: ClaimAccounts = {
  claimOf,
  answers: [
    { vm: "a", phase: "first", addresses: ["10.0.0.1"] },
    { vm: "b", phase: "first", addresses: ["10.0.0.2"] },
    { vm: "a", phase: "start", addresses: ["10.0.0.1"] },
  ],
  held: [
    { address: "10.0.0.1", ownerKind: "claim", ownerUid: "1" },
    { address: "10.0.0.2", ownerKind: "claim", ownerUid: "2" },
  ],
  claims: [
    { name: "a.net", uid: "1", addresses: ["10.0.0.1"] },
    { name: "b.net", uid: "2", addresses: [] },
  ],
};

describe("the audit of claims", () => {
  it("finds nothing where all accounts agree; a status may be behind", () => {
    expect(auditClaims(right)).toEqual([]);
  });

  const stories: readonly [string, Partial<ClaimAccounts>, RegExp][] = [
    [
      "a VM that got another address at its second start",
      { answers: [...right.answers, { vm: "b", phase: "start", addresses: ["10.0.0.3"] }] },
      /b had 10\.0\.0\.2, and was answered 10\.0\.0\.3 in start/,
    ],
    [
      "one address for two VMs",
      { answers: [...right.answers, { vm: "c", phase: "first", addresses: ["10.0.0.1"] }] },
      /10\.0\.0\.1 was given to a and to c/,
    ],
    [
      "an answer without an address",
      { answers: [{ vm: "a", phase: "first", addresses: [] }] },
      /a was answered 0 addresses in first/,
    ],
    [
      "an address that nobody holds",
      { held: right.held.slice(0, 1) },
      /10\.0\.0\.2 was given to b, and is held by nobody/,
    ],
    [
      "an address that a pod holds",
      { held: [right.held[0]!, { address: "10.0.0.2", ownerKind: "pod", ownerUid: "2" }] },
      /held by pod 2, not by claim b\.net/,
    ],
    [
      "two holds of one address",
      { held: [...right.held, { address: "10.0.0.1", ownerKind: "claim", ownerUid: "2" }] },
      /10\.0\.0\.1 has 2 holds/,
    ],
    ["a VM whose claim is gone", { claims: right.claims.slice(0, 1) }, /whose claim b\.net is not there/],
    [
      "a status that says what another holds",
      { claims: [right.claims[0]!, { name: "b.net", uid: "2", addresses: ["10.0.0.1"] }] },
      /claim b\.net says 10\.0\.0\.1, which claim:1 holds/,
    ],
  ];
  it.each(stories)("%s", (_, change, words) => {
    expect(auditClaims({ ...right, ...change }).join("\n")).toMatch(words);
  });
});
