// What may be asked for by number is what the network's own pools would give, held to the pools themselves.
import fc from "fast-check";
import { expect, it } from "vitest";

import { decide } from "../ipam/decide.ts";
import { Pool } from "../ipam/pool.ts";
import { parseAddress } from "../net/address.ts";
import { consentFault, placeFault } from "./by-number.ts";
import { parseIpamConfig } from "./config/ipam-config.ts";
import { parseNetwork } from "./config/network.ts";
import { poolDefinitionOf, wantOf } from "./config/pool-definition.ts";

const configOf = (ipam: object, more: object = {}) =>
  parseIpamConfig(parseNetwork(JSON.stringify({ name: "lan", ...more, ipam: { type: "holdfast", ...ipam } }))).config;

it("an address may be asked for where one of the pools, the gateway reserved, would give it, and nowhere else", () => {
  const host = fc.integer({ min: 0, max: 31 }).map((last) => `10.0.0.${last}`);
  const range = fc.record(
    {
      range: fc.constantFrom("10.0.0.0/28", "10.0.0.0/29", "10.0.0.16/28", "10.0.0.8/31"),
      range_start: host,
      range_end: host,
      exclude: fc.array(host, { maxLength: 3 }),
      enable_l3: fc.boolean(),
      pick_addresses: fc.array(host, { maxLength: 3 }),
    },
    { requiredKeys: ["range"] },
  );
  const networks = fc.record(
    { ipRanges: fc.array(range, { minLength: 1, maxLength: 3 }), gateway: host },
    { requiredKeys: ["ipRanges"] },
  );
  const owner = { kind: "pod", uid: "u", namespace: "n", name: "p", interface: "net1" } as const;
  fc.assert(
    fc.property(networks, (ipam) => {
      // As whereabouts reads it: ends and picks that do not fit are passed over.
      const config = configOf({ ...ipam, strict: false, exclude_gateway: true });
      const pools = config.ranges.map((each) => ({ each, pool: new Pool(poolDefinitionOf(config, each), () => 0) }));
      for (let last = 0; last < 32; last++) {
        const address = parseAddress(`10.0.0.${last}`);
        const given = pools.some(({ each, pool }) => {
          const want = wantOf(each);
          if (want.kind === "oneOf" && !want.addresses.some((pick) => `${pick}` === `${address}`)) return false;
          return decide(pool, { owner, want: { kind: "given", address } }, () => 0).kind === "grant";
        });
        expect([`${address}`, placeFault(config, address) === undefined]).toEqual([`${address}`, given]);
      }
    }),
  );
});

it.each([
  ["nothing said", {}, {}, false],
  ["the plugin's capability", {}, { capabilities: { ips: true } }, true],
  ["the ipam's key", { allow_requested_ips: true }, {}, true],
  ["neither of them", { allow_requested_ips: false }, { capabilities: { ips: false, mac: true } }, false],
])("consent: %s", (_what, ipam, more, consents) => {
  const fault = consentFault(configOf({ range: "10.0.0.0/24", ...ipam }, more));
  expect(fault === undefined).toBe(consents);
  if (fault !== undefined) expect(fault).toContain("the network lan");
});
