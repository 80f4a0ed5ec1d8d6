// GC's list: read from either name, and never taken for empty by mistake.
import { describe, expect, it } from "vitest";

import { parseValidAttachments } from "./attachments.ts";
import type { CniError } from "./error.ts";

const first = { containerID: "c1", ifname: "net1" };
const second = { containerID: "c2", ifname: "net1" };

describe("parseValidAttachments", () => {
  it.each([
    ["the specification's name", { "cni.dev/valid-attachments": [first, second] }],
    ["the other name", { "cni.dev/attachments": [first, second] }],
    [
      "both, in another order",
      { "cni.dev/valid-attachments": [first, second], "cni.dev/attachments": [second, first] },
    ],
  ])("reads %s", (_what, plugin) => {
    expect(parseValidAttachments(plugin)).toEqual([
      { containerId: "c1", interfaceName: "net1" },
      { containerId: "c2", interfaceName: "net1" },
    ]);
  });

  it("takes an empty list at its word", () => {
    expect(parseValidAttachments({ "cni.dev/valid-attachments": [] })).toEqual([]);
  });

  it.each([
    ["missing", {}, ["cni.dev/valid-attachments"]],
    ["null", { "cni.dev/valid-attachments": null }, ["cni.dev/valid-attachments"]],
    ["an object", { "cni.dev/valid-attachments": {} }, ["cni.dev/valid-attachments"]],
    [
      "broken items",
      { "cni.dev/valid-attachments": [first, { containerID: "c1" }, 1, { containerID: "", ifname: "a" }] },
      ["cni.dev/valid-attachments[1]", "cni.dev/valid-attachments[2]", "cni.dev/valid-attachments[3]"],
    ],
    ["two lists", { "cni.dev/valid-attachments": [first], "cni.dev/attachments": [] }, ["cni.dev/attachments"]],
  ])("refuses %s", (_what, plugin, keys) => {
    let found: string[] = [];
    try {
      parseValidAttachments(plugin);
    } catch (error) {
      found = (error as CniError).problems.map((problem) => problem.key);
    }
    expect(found).toEqual(keys);
  });
});
