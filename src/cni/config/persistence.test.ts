// allowPersistentIPs of any definition; ours, against the parser that pods' requests go through: they never disagree.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { CniError } from "../error.ts";
import { type IpamConfig, parseIpamConfig } from "./ipam-config.ts";
import { parseNetwork } from "./network.ts";
import { persistenceOf } from "./persistence.ts";

const ovn = { name: "blue", type: "ovn-k8s-cni-overlay", topology: "layer2", subnets: "10.0.0.0/24" };
const ours = { type: "holdfast", range: "10.0.0.0/24" };
const allowed = { network: "blue", isAllowed: true, isPrimary: false, isOurs: true, problem: "" };

describe("a definition", () => {
  it.each<[string, unknown, object]>([
    ["of OVN", { ...ovn, allowPersistentIPs: true }, allowed],
    [
      "of another plugin's, whose addresses are its own",
      { ...ovn, type: "kube-ovn", allowPersistentIPs: true },
      { ...allowed, isOurs: false },
    ],
    ["that does not ask", ovn, { isAllowed: false, problem: "" }],
    ["that says no", { ...ovn, allowPersistentIPs: false }, { isAllowed: false, problem: "" }],
    ["of the primary network", { ...ovn, role: "primary", allowPersistentIPs: true }, { ...allowed, isPrimary: true }],
    ["of ours", { name: "blue", type: "macvlan", allowPersistentIPs: true, ipam: ours }, allowed],
    ["of ours, in ipam", { name: "blue", ipam: { ...ours, allowPersistentIPs: true } }, allowed],
    ["in another case", { ...ovn, AllowPersistentIps: true }, allowed],
    ["in a list", { name: "blue", plugins: [{ type: "x" }, { ...ovn, name: "", allowPersistentIPs: true }] }, allowed],
    ["of a list as a whole", { name: "blue", allowPersistentIPs: true, plugins: [{ type: "x", ipam: ours }] }, allowed],
    [
      "of layer3",
      { ...ovn, topology: "layer3", allowPersistentIPs: true },
      { isAllowed: false, problem: expect.stringContaining("belong to nodes") as unknown },
    ],
    [
      "without subnets",
      { ...ovn, subnets: " ", allowPersistentIPs: true },
      { isAllowed: false, problem: expect.stringContaining("write subnets") as unknown },
    ],
    ["of ours with a range", { ...ovn, type: "ovs", subnets: "", allowPersistentIPs: true, ipam: ours }, allowed],
    [
      "without a name",
      { ...ovn, name: "", allowPersistentIPs: true },
      { isAllowed: false, problem: expect.stringContaining("write one") as unknown },
    ],
    [
      "that says it with quotes",
      { ...ovn, allowPersistentIPs: "true" },
      { isAllowed: false, problem: expect.stringContaining("without quotes") as unknown },
    ],
    ["that is a list", [], { isAllowed: false, problem: "its config is no object" }],
  ])("%s", (_, config, expected) => {
    expect(persistenceOf(JSON.stringify(config))).toMatchObject(expected);
  });

  it("that is no JSON", () => {
    expect(persistenceOf("{")).toMatchObject({
      isAllowed: false,
      problem: expect.stringContaining("no JSON") as unknown,
    });
  });
});

/** Most definitions are whole: a mistake in every key would only ever be refused. */
const nothing = fc.constant(undefined);
const flag = fc.oneof(
  { weight: 6, arbitrary: nothing },
  { weight: 4, arbitrary: fc.constant(true) },
  { weight: 1, arbitrary: fc.constantFrom(false, null, "true", 1) },
);
const some = <T>(...values: T[]) =>
  fc.oneof({ weight: 3, arbitrary: nothing }, { weight: 2, arbitrary: fc.constantFrom<T | undefined>(...values) });
const ipam = fc.record(
  {
    type: fc.constantFrom("holdfast", "holdfast", "whereabouts", "host-local"),
    range: some("10.9.0.0/24", "", "nonsense"),
    ipRanges: some([{ range: "10.8.0.0/24" }], []),
    addresses: some([{ address: "10.9.0.5/24" }]),
    allowPersistentIPs: flag,
    allowpersistentips: flag,
    network_name: some("red"),
    strict: some(true, false),
  },
  { requiredKeys: ["type"] },
);
const plugin = fc.record(
  {
    name: fc.constantFrom<unknown>("blue", "blue", "blue", "", null),
    type: some("macvlan", "ovs", "ovn-k8s-cni-overlay"),
    netAttachDefName: fc.constant("t/blue"),
    topology: some<unknown>("layer2", "localnet", "layer3", "odd", 7),
    Topology: some("layer2"),
    subnets: some<unknown>("10.0.0.0/24", "10.0.0.0/24,fd00::/64", "", "nonsense", ["10.0.0.0/24"]),
    excludeSubnets: some("10.0.0.0/29", "192.0.2.0/24"),
    role: some("primary", "secondary"),
    allowPersistentIPs: flag,
    AllowPersistentIPs: flag,
    ipam,
  },
  { requiredKeys: ["ipam"] },
);
const definition = fc.oneof(
  plugin.map((each) => ({ cniVersion: "1.0.0", ...each })),
  fc
    .record({ name: some<unknown>("list", ""), allowPersistentIPs: flag, plugins: fc.array(plugin, { maxLength: 3 }) })
    .map((each) => ({ cniVersion: "1.0.0", ...each })),
);

function parsed(text: string): IpamConfig | CniError {
  try {
    return parseIpamConfig(parseNetwork(text)).config;
  } catch (error) {
    if (error instanceof CniError) return error;
    throw error;
  }
}

it("says the same as the parser, of every definition that the parser takes", () => {
  const seen = { taken: 0, kept: 0, refused: 0 };
  fc.assert(
    fc.property(definition, (value) => {
      const text = JSON.stringify(value);
      const said = persistenceOf(text);
      const config = parsed(text);
      if (config instanceof CniError) {
        seen.refused += 1;
        return;
      }
      seen.taken += 1;
      if (config.persistent) seen.kept += 1;
      expect({ isAllowed: said.isAllowed, problem: said.problem }).toEqual({
        isAllowed: config.persistent,
        problem: "",
      });
      expect(said.isOurs).toBe(true);
      if (said.isAllowed) expect(said.network).toBe(config.name);
    }),
    { numRuns: 5000 },
  );
  // Else the property above would say nothing.
  expect(Math.min(seen.taken, seen.kept, seen.refused)).toBeGreaterThan(50);
});

it("what it finds wrong with one of ours, the parser refuses in the same words", () => {
  fc.assert(
    fc.property(plugin, (value) => {
      const text = JSON.stringify({ cniVersion: "1.0.0", ...value });
      const { isOurs, problem } = persistenceOf(text);
      if (!isOurs || problem === "") return;
      const refusal = parsed(text);
      expect(refusal).toBeInstanceOf(CniError);
      if (!(refusal instanceof CniError) || refusal.problems.length === 0) return; // refused before, as a whole
      expect(refusal.problems.map(({ message }) => message)).toContain(`${problem}.`);
    }),
    { numRuns: 5000 },
  );
});
