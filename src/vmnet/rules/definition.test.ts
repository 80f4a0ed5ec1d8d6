// Who else gives addresses on a network.
import { expect, test } from "vitest";

import { otherGivers } from "./definition.ts";
import { networkRef } from "./network-ref.ts";

const said = (config: unknown) =>
  otherGivers({ config: typeof config === "string" ? config : JSON.stringify(config) }, networkRef("a", "net"))
    .map(({ message }) => message)
    .join("\n");

test.each([
  ["no ipam", { type: "bridge", vlan: 48 }],
  ["an empty ipam", { type: "bridge", ipam: {} }],
  ["an ipam without a type", { type: "bridge", ipam: { type: "" } }],
  ["a list without one", { plugins: [{ type: "bridge" }, { type: "tuning" }] }],
  ["no persistence", { type: "bridge", allowPersistentIPs: false }],
  ["no JSON", "{"],
  ["no object", "[]"],
])("%s: nobody", (_, config) => {
  expect(said(config)).toBe("");
});

test.each([
  [
    "an ipam",
    { type: "bridge", ipam: { type: "whereabouts" } },
    /NetworkAttachmentDefinition a\/net .* has ipam with type "whereabouts". Remove ipam/,
  ],
  [
    "an ipam in a list",
    { plugins: [{ type: "tuning" }, { type: "bridge", ipam: { type: "dhcp" } }] },
    /plugins\[1\].ipam with type "dhcp". Remove plugins\[1\].ipam/,
  ],
  ["persistence", { type: "bridge", allowPersistentIPs: true }, /has allowPersistentIPs. Remove it/],
  [
    "persistence in ipam",
    { plugins: [{ type: "bridge", ipam: { allowPersistentIPs: true } }] },
    /has plugins\[0\].ipam.allowPersistentIPs/,
  ],
])("%s: two who answer", (_, config, words) => {
  expect(said(config)).toMatch(words);
});
