// The envelope of a configuration: one plugin, a list of plugins, and what is wrong with either.
import { describe, expect, it } from "vitest";

import { CniError } from "../error.ts";
import { maxConfigBytes } from "../json.ts";
import { parseNetwork } from "./network.ts";

const ipam = { type: "holdfast", range: "10.0.0.0/24" };

function failure(text: string): string {
  try {
    parseNetwork(text);
  } catch (error) {
    if (error instanceof CniError) return `${error.code} ${error.message}`;
    throw error;
  }
  return "none";
}

describe("parseNetwork", () => {
  it("reads one plugin with what the runtime added", () => {
    const plugin = {
      cniVersion: "1.1.0",
      name: "blue",
      type: "macvlan",
      capabilities: { ips: true, mac: true },
      ipam,
      runtimeConfig: { ips: ["10.0.0.7/24"] },
      args: { cni: {} },
      prevResult: { cniVersion: "1.1.0" },
    };
    expect(parseNetwork(JSON.stringify(plugin))).toEqual({
      cniVersion: "1.1.0",
      name: "blue",
      ipam,
      runtimeConfig: plugin.runtimeConfig,
      args: plugin.args,
      prevResult: plugin.prevResult,
      persistence: { network: "blue", isAllowed: false, isPrimary: false, isOurs: true, problem: "" },
      declaresIps: true,
      plugin,
    });
  });

  it("takes the old name of the type, and a missing version and name", () => {
    const network = parseNetwork(JSON.stringify({ ipam: { type: "whereabouts" } }));
    expect(network).toMatchObject({ cniVersion: "0.1.0", name: "", runtimeConfig: {}, args: {} });
    expect(network).not.toHaveProperty("prevResult");
  });

  it("finds our plugin anywhere in a list, with the list's name and version", () => {
    const list = { cniVersion: "0.4.0", name: "blue", plugins: [{ type: "tuning" }, { type: "bridge", ipam }] };
    expect(parseNetwork(JSON.stringify(list))).toMatchObject({ cniVersion: "0.4.0", name: "blue", ipam });
  });

  it.each([
    ["not JSON", "{", "6 the network configuration is not JSON"],
    ["a list", "[]", "6 the network configuration is a list: write one JSON object."],
    ["too long", `{"a":"${"x".repeat(maxConfigBytes)}"}`, "6 the network configuration is larger than 1048576 bytes"],
    ["too many bytes", `{"a":"${"é".repeat(maxConfigBytes / 2)}"}`, "6 the network configuration is larger than"],
    ["too deep", `{"a":${"[".repeat(64)}${"]".repeat(64)}}`, "6 the network configuration is nested deeper than 64"],
    ["far too deep", `{"a":${"[".repeat(400_000)}${"]".repeat(400_000)}}`, "nested deeper than 64"],
    ["no ipam", '{"name":"blue"}', "7 ipam of the network blue is missing"],
    ["ipam of a wrong kind", '{"ipam":"holdfast"}', "7 ipam is a string"],
    ["another's ipam", '{"ipam":{"type":"host-local"}}', '7 ipam.type is "host-local": write "holdfast"'],
    ["another's list", '{"plugins":[{"ipam":{"type":"dhcp"}}]}', "7 none of plugins has"],
    ["no list", '{"plugins":{}}', "7 plugins is {}: write a list"],
    ["two of ours", JSON.stringify({ plugins: [{ ipam }, { ipam }] }), "7 2 of plugins are ours"],
    ["a bad name", JSON.stringify({ name: "../x", ipam }), '7 name is "../x"'],
    ["a bad version", JSON.stringify({ cniVersion: "3", ipam }), '1 cniVersion is "3"'],
    ["a bad prevResult", JSON.stringify({ prevResult: [], ipam }), "7 prevResult is []"],
    ["a bad runtimeConfig", JSON.stringify({ runtimeConfig: 1, ipam }), "7 runtimeConfig is 1"],
  ])("refuses %s", (_what, text, expected) => {
    expect(failure(text)).toContain(expected);
  });

  it("takes a configuration just below the limit", () => {
    const text = JSON.stringify({ ipam, note: "" });
    const padded = text.replace('"note":""', `"note":"${"x".repeat(maxConfigBytes - text.length)}"`);
    expect(padded).toHaveLength(maxConfigBytes);
    expect(failure(padded)).toBe("none");
    expect(failure(`${padded} `)).toContain("larger than");
  });
});
