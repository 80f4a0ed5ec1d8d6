// The three indexes against a plain list; and what may be a binding at all.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { hex, ip } from "../../../test/dhcp/packet.ts";
import { V4Address } from "../../net/address.ts";
import { macFromBytes, macToBytes, parseMac } from "../../net/mac.ts";
import { DhcpError } from "../error.ts";
import { BindingTable } from "./binding-table.ts";
import { type BindingDefinition, compileBinding, macKeyOf } from "./binding.ts";

const macOf = (index: number) => macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, index));

it("agrees with a list in which the newest record of an address or a client is the only one", () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("set" as const),
      address: fc.nat(8),
      mac: fc.option(fc.nat(5), { nil: undefined }),
      client: fc.option(fc.nat(5), { nil: undefined }),
    }),
    fc.record({ kind: fc.constant("delete" as const), address: fc.nat(8) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const table = new BindingTable();
      let list: { address: number; mac: number | undefined; client: number | undefined }[] = [];
      for (const each of steps) {
        if (each.kind === "delete") {
          table.delete(each.address);
          list = list.filter(({ address }) => address !== each.address);
        } else if (each.mac !== undefined || each.client !== undefined) {
          const { address, mac, client } = each;
          const definition: BindingDefinition = {
            address: new V4Address(address),
            pool: "p",
            ...(mac === undefined ? {} : { mac: macOf(mac) }),
            ...(client === undefined ? {} : { clientIdentifier: Uint8Array.of(0, client) }),
          };
          table.set(compileBinding(definition));
          list = list.filter(
            (old) =>
              old.address !== address &&
              (mac === undefined || old.mac !== mac) &&
              (client === undefined || old.client !== client),
          );
          list.push({ address, mac, client });
        }
        expect(table.size).toBe(list.length);
        expect([...table.values()].map(({ address }) => address)).toEqual(list.map(({ address }) => address));
        for (let mac = 0; mac <= 5; mac++) {
          for (const client of [undefined, 0, 1, 2, 3, 4, 5]) {
            const named = client === undefined ? undefined : list.find((old) => old.client === client);
            const wanted = named ?? list.find((old) => old.mac === mac);
            const identifier = client === undefined ? undefined : Uint8Array.of(0, client);
            const found = table.find(macKeyOf(macToBytes(macOf(mac))), identifier);
            expect(found?.address).toBe(wanted?.address);
            if (found !== undefined) expect(table.ofAddress(found.address)).toBe(found);
          }
        }
      }
    }),
    { numRuns: 60 },
  );
});

it("every MAC has a key of its own", () => {
  const keys = [
    "00:00:00:00:00:00",
    "00:00:00:00:00:01",
    "00:00:80:00:00:00",
    "80:00:00:00:00:00",
    "ff:ff:ff:ff:ff:ff",
  ];
  expect(keys.map((mac) => macKeyOf(macToBytes(parseMac(mac))))).toEqual([0, 1, 2 ** 31, 2 ** 47, 2 ** 48 - 1]);
});

describe("what is no binding", () => {
  const mac = macOf(1);
  it.each<readonly [string, Partial<BindingDefinition>]>([
    ["nobody's", {}],
    ["of an identifier of one byte", { clientIdentifier: hex("01") }],
    ["with an empty host name", { mac, hostName: "" }],
    ["with a host name that does not print", { mac, hostName: "vm\n" }],
    ["with a lease time of its own", { mac, custom: [{ code: 51, value: { kind: "uint32", value: 60 } }] }],
    ["with an option twice", { mac, hostName: "a", custom: [{ code: 12, value: { kind: "text", value: "b" } }] }],
  ])("%s", (_, definition) => {
    const act = () => compileBinding({ address: ip("192.0.2.1"), pool: "p", ...definition });
    expect(act).toThrow(DhcpError);
    expect(act).toThrow(/^The binding of 192\.0\.2\.1/);
  });
});
