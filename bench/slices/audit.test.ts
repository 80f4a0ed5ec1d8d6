import { describe, expect, it } from "vitest";

import { assertAudited, audit, type Held } from "./audit.ts";

const held = (address: string, more: Partial<Held> = {}): Held => ({
  node: "node-0",
  network: "blue",
  address,
  owner: "bench/a net1",
  ...more,
});
const one = held("10.0.0.1");
const two = held("10.0.0.2", { owner: "bench/b net1" });
const right = { answers: [one, two], journals: [two, one], mirrors: [one, two] };

describe("the audit of a scale run", () => {
  it("has nothing to say where all accounts agree, in any order", () => {
    expect(audit(right)).toEqual([]);
    expect(() => assertAudited("a run", right)).not.toThrow();
  });

  it("takes the same address in two networks for two addresses", () => {
    const both = [one, held("10.0.0.1", { network: "green", owner: "bench/b net1" })];
    expect(audit({ answers: both, journals: both, mirrors: both })).toEqual([]);
  });

  it.each([
    [
      "an address on two nodes",
      { journals: [one, two, held("10.0.0.1", { node: "node-1", owner: "bench/c net1" })] },
      "blue 10.0.0.1 is in the journals twice: for bench/a net1 on node-0 and for bench/c net1 on node-1",
    ],
    [
      "an answer that no journal has",
      { journals: [two] },
      "blue 10.0.0.1 is answered for bench/a net1 on node-0, and the journals do not have it",
    ],
    [
      "a hold that nobody was answered",
      { answers: [two] },
      "blue 10.0.0.1 is in a journal for bench/a net1 on node-0, and the answers do not have it",
    ],
    [
      "a mirror that lags",
      { mirrors: [two] },
      "blue 10.0.0.1 is in a journal for bench/a net1 on node-0, and the mirrors do not have it",
    ],
    [
      "a mirror that names another owner",
      { mirrors: [two, held("10.0.0.1", { owner: "bench/c net1" })] },
      "blue 10.0.0.1 is mirrored for bench/c net1 on node-0, and the journals have bench/a net1 on node-0",
    ],
  ])("finds %s", (_, wrong, sentence) => {
    expect(audit({ ...right, ...wrong })).toContain(sentence);
    expect(() => assertAudited("a run", { ...right, ...wrong })).toThrow(sentence);
  });
});
