// The state as bytes: what comes out of a file is what went into it, however many pieces it is written in.
import { expect, test } from "vitest";

import { decodeState, encodeState } from "./state-text.ts";

const hold = (index: number) => ({
  metadata: { name: `h-${index}`, annotations: { note: `ünïcode "${index}"\n` } },
  spec: { domain: "vm-network:a/b", address: `10.0.0.${index}`, owner: { kind: "nic" as const } },
});
const pool = { metadata: { namespace: "a", name: "p" }, spec: { networkName: "a/b" } };
const state = (holds: number) =>
  ({
    savedMs: 1.5,
    networks: [
      { network: "a/b", pools: [pool, pool], holds: Array.from({ length: holds }, (_, index) => hold(index)) },
      { network: "a/none", pools: [], holds: [] },
    ],
  }) as unknown as Parameters<typeof encodeState>[0];

test.each([0, 1, 3000])("%i holds come back as they were", (holds) => {
  const pieces = encodeState(state(holds));
  expect(decodeState(Buffer.concat(pieces))).toEqual(state(holds));
  expect(pieces.length > 5).toBe(holds === 3000);
  expect(pieces.every(({ length }) => length < 100_000)).toBe(true);
});

test("no networks are a state, too; a piece that is missing is seen", () => {
  expect(decodeState(Buffer.concat(encodeState({ savedMs: 1, networks: [] })))).toEqual({ savedMs: 1, networks: [] });
  expect(() => decodeState(Buffer.concat(encodeState(state(3000)).slice(0, -1)))).toThrow("a part of it is missing");
});
