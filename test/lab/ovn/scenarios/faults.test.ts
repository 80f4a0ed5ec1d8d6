// What counts as a fault of a scenario, and what does not.
import { expect, it } from "vitest";

import type { ProbeReport } from "../probe.ts";
import { faultsOf } from "./faults.ts";
import type { GuestView, Told } from "./scenario.ts";

const probe = (more: Partial<ProbeReport> = {}): ProbeReport => ({
  name: "a1",
  to: "vm1",
  kind: "icmp",
  sent: 100,
  answered: 90,
  missed: 10,
  silentAtEndMs: 20,
  gaps: [],
  ...more,
});
const lines = ["10.244.0.8/24", "10.244.0.0/24 dev eth0 scope link  src 10.244.0.8", "fe80::/64 dev eth0"];
const guest: GuestView = { vm: "vm1", before: lines, after: lines, routes: [lines[1]!] };
const told = (more: Partial<Told>): Told => ({
  moves: new Map(),
  probes: [],
  bystanders: [],
  guests: [],
  faults: [],
  ...more,
});

it.each([
  ["a witness may miss packets", { probes: [probe()] }, []],
  ["a lost connection", { probes: [probe({ kind: "tcp", lost: "reset" })] }, ["tcp from a1 to vm1: reset"]],
  [
    "silence to the end",
    { probes: [probe({ silentAtEndMs: 1500 })] },
    ["icmp from a1 to vm1: no answer in the last 1500 ms"],
  ],
  ["a bystander of a busy machine", { bystanders: [probe({ missed: 3, gaps: [{ fromMs: 0, ms: 70 }] })] }, []],
  [
    "a bystander that was cut off",
    { bystanders: [probe({ gaps: [{ fromMs: 0, ms: 1200 }] })] },
    ["icmp from a1 to vm1: silent for 1200 ms, and neither of them moved"],
  ],
  ["a guest as it was", { guests: [guest] }, []],
  [
    "a guest that has a route more",
    { guests: [{ ...guest, routes: [] }] },
    [`vm1 has the IPv4 routes [${lines[1]}], not []`],
  ],
  [
    "a guest without its IPv6 router",
    { guests: [{ ...guest, routes: [lines[1]!, "default via fe80::1 dev eth0"] }] },
    [`vm1 has no route default via fe80::1 dev eth0 among [${lines.join("; ")}]`],
  ],
  [
    "a guest whose address is gone",
    { guests: [{ ...guest, after: lines.slice(1) }] },
    [`vm1 had [${lines.join("; ")}] and now has [${lines.slice(1).join("; ")}]`],
  ],
  ["what the scenario itself says", { faults: ["so"] }, ["so"]],
] as const)("%s", (_, more, expected) => {
  expect(faultsOf(told(more))).toEqual(expected);
});
