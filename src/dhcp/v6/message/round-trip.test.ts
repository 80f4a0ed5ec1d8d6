// What is written is what is read: any options, IAs and relays, through our own codec both ways.
import * as fc from "fast-check";
import { expect, it } from "vitest";

import { addressOption, type Ia, iaOption } from "../options/ia.ts";
import type { RawOptionV6 } from "../options/option.ts";
import { decodeEnvelope, type Relay } from "./decode.ts";
import { encodeMessageV6, type OutgoingV6, relaysBytesMax } from "./encode.ts";

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const buffer = new Uint8Array(1452 + relaysBytesMax);

/** Codes that mean nothing to the decoder. */
const option = fc.record({ code: fc.integer({ min: 100, max: 0xffff }), data: fc.uint8Array({ maxLength: 40 }) });
const ia = fc.record({
  kind: fc.constantFrom("addresses" as const, "temporary" as const),
  iaid: bytes(4),
  leases: fc.array(bytes(16), { maxLength: 2 }),
});
const relay = fc.record({
  hopCount: fc.nat(255),
  linkAddress: bytes(16),
  peerAddress: bytes(16),
  interfaceId: fc.option(fc.uint8Array({ maxLength: 256 }), { nil: undefined }),
  clientLinkLayerAddress: fc.constant(undefined),
});
const duid = fc.uint8Array({ minLength: 3, maxLength: 130 });

/** A RELAY-REPL has the layout of a RELAY-FORW: only the type is another. */
function asForward(encoded: Uint8Array, relays: readonly Relay[]): Uint8Array {
  const datagram = encoded.slice();
  let at = 0;
  for (const { interfaceId } of relays) {
    datagram[at] = 12;
    at += 34 + (interfaceId === undefined ? 0 : 4 + interfaceId.length) + 4;
  }
  return datagram;
}

const same = (one: Uint8Array, other: Uint8Array) => Buffer.from(one).equals(Buffer.from(other));

it("messages and relays", () => {
  const message = fc.record({
    type: fc.integer({ min: 1, max: 11 }),
    transactionId: fc.nat(0xff_ffff),
    client: duid,
    ias: fc.array(ia, { maxLength: 8 }),
    others: fc.array(option, { maxLength: 8 }),
    relays: fc.array(relay, { maxLength: 9 }),
  });
  fc.assert(
    fc.property(message, ({ type, transactionId, client, ias, others, relays }) => {
      const options: RawOptionV6[] = [
        { code: 1, data: client },
        ...ias.map((each) =>
          iaOption(
            each,
            each.leases.map((lease) => addressOption(lease, new Uint8Array(8))),
          ),
        ),
      ];
      const outgoing: OutgoingV6 = { type, transactionId, options, parameters: others, relays };
      const { bytes: encoded, leftOut } = encodeMessageV6(outgoing, 1452, buffer, 0);
      expect(leftOut).toEqual([]);
      const read = decodeEnvelope(asForward(encoded, relays));
      if (read.kind === "fault") throw new Error(read.message);
      expect(read.message).toMatchObject({ type, transactionId });
      expect(read.relays).toEqual(relays);
      const found = [...read.message.options.all()];
      expect(found.map(([code]) => code)).toEqual([...options, ...others].map(({ code }) => code));
      expect(found.every(([, data], index) => same(data, [...options, ...others][index]!.data))).toBe(true);
      expect(read.message.ias.map((each: Ia) => [each.kind, each.iaid, each.leases])).toEqual(
        ias.map((each) => [each.kind, each.iaid, each.leases]),
      );
    }),
  );
});

it("parameters that do not fit are left out, the largest first, and nothing else is", () => {
  const parameters = fc.uniqueArray(option, { maxLength: 12, selector: ({ code }) => code });
  fc.assert(
    fc.property(parameters, fc.integer({ min: 4, max: 400 }), (all, limit) => {
      const outgoing = { type: 7, transactionId: 1, options: [], parameters: all, relays: [] };
      const { bytes: encoded, leftOut } = encodeMessageV6(outgoing, limit, buffer, 0);
      expect(encoded.length).toBeLessThanOrEqual(limit);
      const kept = all.filter(({ code }) => !leftOut.includes(code));
      expect(encoded.length).toBe(4 + kept.reduce((sum, { data }) => sum + 4 + data.length, 0));
      const dropped = all.filter(({ code }) => leftOut.includes(code));
      const smallest = Math.min(...dropped.map(({ data }) => data.length));
      expect(kept.every(({ data }) => data.length <= smallest)).toBe(true);
      // The last one to go had no room.
      if (dropped.length > 0) expect(encoded.length + 4 + smallest).toBeGreaterThan(limit);
    }),
  );
});
