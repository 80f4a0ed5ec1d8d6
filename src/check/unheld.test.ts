import { describe, expect, it } from "vitest";

import { parseAddress } from "../net/address.ts";
import { networksOf } from "../pools/networks.ts";
import type { LedgerSnapshot } from "./snapshot.ts";
import { unheldIn } from "./unheld.ts";

const definition = (name: string, ipam: object, namespace = "shop") => ({
  metadata: { namespace, name },
  spec: { config: JSON.stringify({ cniVersion: "1.0.0", name, type: "bridge", ipam: { type: "holdfast", ...ipam } }) },
});

const blue = definition("blue", {
  range: "10.0.0.0/24",
  range_start: "10.0.0.10",
  range_end: "10.0.0.200",
  gateway: "10.0.0.11",
  exclude: ["10.0.0.32/28"],
});

function told(address: string, ...definitions: ReturnType<typeof definition>[]): string[] {
  const slices = { slices: [] as never[] };
  const snapshot = { networks: networksOf(definitions, "kube-system"), slices } as unknown as LedgerSnapshot;
  return unheldIn(snapshot, parseAddress(address)).map(({ words, definitions: by }) => `${by.join(",")}: ${words}`);
}

describe("an address that nobody holds", () => {
  it.each([
    ["10.0.0.12", "it is free"],
    ["10.0.0.11", "it is the gateway"],
    ["10.0.0.33", "it is excluded by 10.0.0.32-10.0.0.47"],
    ["10.0.0.0", "it is the network's own address, never handed out"],
    ["10.0.0.255", "it is the broadcast address, never handed out"],
    ["10.0.0.5", "it is outside of what is handed out, 10.0.0.10-10.0.0.200"],
  ])("%s: %s", (address, words) => {
    expect(told(address, blue)).toEqual([`shop/blue: ${words}`]);
  });

  it("is of no network where no range has it", () => {
    expect(told("10.0.1.1", blue)).toEqual([]);
  });

  it("is told once for definitions that agree about it, and for each of those that do not", () => {
    const plain = { range: "10.0.0.0/24" };
    const [a, b] = [definition("a", plain), definition("b", plain)];
    const c = definition("c", { ...plain, exclude: ["10.0.0.9/32"] });
    expect(told("10.0.0.9", a, b, c)).toEqual(["shop/a,shop/b: it is free", "shop/c: it is excluded by 10.0.0.9"]);
  });

  it("of a sliced range is in nobody's slice yet where no slice has it", () => {
    const sliced = definition("s", { range: "10.8.0.0/16", node_slice_size: "/24" });
    expect(told("10.8.3.4", sliced)).toEqual(["shop/s: it is free, and in no node's slice yet"]);
  });
});
