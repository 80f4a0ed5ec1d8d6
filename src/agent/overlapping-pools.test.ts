// Pools of one network that cannot both be, made past the webhook: agents of the network and of each pool serve the
// same, and no address to two.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { holdObjectOf } from "../api/holds/hold-object.ts";
import type { StoredHold, StoredManagedPool } from "../cluster/resources.ts";
import { silent } from "../log/log.ts";
import { parseAddress } from "../net/address.ts";
import { clashWith } from "../vmnet/rules/pool-clash.ts";
import { readPool } from "../vmnet/rules/read-pool.ts";
import { Findings } from "./compile/finding.ts";
import { ServedNetwork } from "./served-network.ts";

const name = "default/net-1";
const domain = `vm-network:${name}`;
const ip = (last: number) => `10.1.0.${last}`;
const mac = (number: number) => `02:00:00:00:00:${number.toString(16).padStart(2, "0")}`;

interface Written {
  readonly name: string;
  /** Second of its creation. */
  readonly second: number;
  readonly server: number;
  readonly router?: number | undefined;
  readonly range: readonly [number, number];
  readonly reservations: readonly { readonly at: number; readonly mac: number }[];
  /** Its start is behind its end: nothing is given out of it. */
  readonly isWrong?: boolean;
  readonly bits?: number;
}

function pool({ name: own, second, server, router, range, reservations, isWrong, bits = 24 }: Written) {
  const [low, high] = [Math.min(...range), Math.max(...range)];
  const [start, end] = isWrong ? [high + 1, low] : [low, high];
  return {
    apiVersion: "network.harvesterhci.io/v1alpha1",
    kind: "IPPool",
    metadata: { namespace: "default", name: own, creationTimestamp: new Date(1000 * second).toISOString() },
    spec: {
      networkName: name,
      ipv4Config: {
        cidr: `10.1.0.0/${bits}`,
        serverIP: ip(server),
        ...(router !== undefined && { router: ip(router) }),
        pool: { start: ip(start), end: ip(end) },
        reservations: reservations.map((each) => ({ ipAddress: ip(each.at), macAddress: mac(each.mac) })),
      },
    },
  } satisfies StoredManagedPool;
}

function hold(at: number, of: number, poolName: string): StoredHold {
  const owner = { kind: "nic", uid: `u-${of}`, namespace: "default", name: `vm-${of}`, nic: mac(of) } as const;
  const note = { pool: `default/${poolName}` };
  const made = holdObjectOf({ domain, address: parseAddress(ip(at)), owner, note }, "kube-system");
  return { ...made, metadata: { ...made.metadata, creationTimestamp: "2026-11-18T04:00:00Z" } } as StoredHold;
}

/** `only`: an agent of one pool. */
function agent(pools: readonly StoredManagedPool[], holds: readonly StoredHold[], only?: string): ServedNetwork {
  const onlyPools = only === undefined ? undefined : new Set([`default/${only}`]);
  const network = new ServedNetwork({ name, onlyPools, findings: new Findings(silent) });
  for (const each of holds) network.setHold(each);
  for (const each of pools) network.setPool(each);
  network.takeDifference();
  return network;
}

/** `ADDRESS MAC`, and `ADDRESS server of POOL`. */
const answers = (network: ServedNetwork) => [
  ...Array.from(network.v4.told, ({ address, mac: of }) => `${ip(address & 255)} ${of}`),
  ...Array.from(network.pools).flatMap(({ name: key, serverIdentifier }) =>
    network.hasServer(key) ? [`${serverIdentifier} server of ${key}`] : [],
  ),
];

describe("of two pools that overlap", () => {
  const old = { name: "old", second: 1, server: 2, range: [10, 19], reservations: [{ at: 30, mac: 1 }] } as const;

  test.each([
    ["a device at an address for VMs of the older", { reservations: [{ at: 12, mac: 9 }] }, [`${ip(12)} ${mac(9)}`]],
    ["a device at the other's server", { reservations: [{ at: 2, mac: 9 }] }, [`${ip(2)} ${mac(9)}`]],
    ["another device at a device's address", { reservations: [{ at: 30, mac: 9 }] }, [`${ip(30)} ${mac(9)}`]],
    ["the other's server", { server: 2 }, [`${ip(2)} server of default/young`]],
    ["its server at an address for VMs", { server: 15 }, [`${ip(15)} server of default/young`]],
    ["its server at a device's address", { server: 30 }, [`${ip(30)} server of default/young`]],
  ])("the younger does not serve %s, and says so", (_, more, lost) => {
    const young = { name: "young", second: 2, server: 3, range: [40, 49], reservations: [], ...more } as const;
    const alone = agent([pool(young)], []);
    expect(answers(alone)).toEqual(expect.arrayContaining(lost));
    for (const only of [undefined, "young"]) {
      const beside = agent([pool(young), pool(old)], [], only);
      for (const each of lost) expect(answers(beside)).not.toContain(each);
    }
    const findings = new Findings(silent);
    const network = new ServedNetwork({ name, findings });
    for (const each of [young, old]) network.setPool(pool(each));
    network.takeDifference();
    expect(Object.keys(findings.all())).toEqual(["ippl default/young"]);
    expect(findings.all()["ippl default/young"]).toContain("ippl default/old, which goes before");
    // The older is corrected, or goes: what was lost is back.
    network.deletePool("default/old");
    network.takeDifference();
    expect(answers(network)).toEqual(expect.arrayContaining(lost));
    expect(findings.size).toBe(0);
  });

  test("a device that both name has its address, by whichever agent", () => {
    const young = { ...old, name: "young", second: 2, server: 3, range: [40, 49] } as const;
    const all = [pool(young), pool(old)];
    const [whole, first, second] = [undefined, "old", "young"].map((only) => answers(agent(all, [], only)));
    expect(whole).toContain(`${ip(30)} ${mac(1)}`);
    expect(first).toContain(`${ip(30)} ${mac(1)}`);
    expect(second).not.toContain(`${ip(30)} ${mac(1)}`);
  });

  test("an address that a VM has is neither a device's nor a server's, whichever pool it came from", () => {
    const young = { name: "young", second: 2, server: 3, range: [40, 49], reservations: [{ at: 50, mac: 9 }] } as const;
    const holds = [hold(50, 5, "old"), hold(3, 6, "old")];
    const network = agent([pool(young), pool(old)], [], "young");
    expect(answers(network)).toEqual([`${ip(50)} ${mac(9)}`, `${ip(3)} server of default/young`]);
    for (const each of holds) network.setHold(each);
    network.takeDifference();
    expect(answers(network)).toEqual([]);
    for (const each of holds) network.deleteHold(each.metadata.name!);
    network.takeDifference();
    expect(answers(network)).toEqual([`${ip(50)} ${mac(9)}`, `${ip(3)} server of default/young`]);
  });

  test("a pool that is wrong keeps nothing that a good one gives, though it is older", () => {
    const wrong = { ...old, name: "wrong", second: 0, reservations: [{ at: 12, mac: 9 }], isWrong: true };
    expect(readPool(pool(wrong)).plan).toBeUndefined();
    expect(answers(agent([pool(wrong)], []))).toContain(`${ip(12)} ${mac(9)}`);
    expect(answers(agent([pool(wrong), pool(old)], []))).not.toContain(`${ip(12)} ${mac(9)}`);
  });

  test("a pool's own server is no device", () => {
    const odd = { ...old, reservations: [{ at: 2, mac: 9 }] };
    expect(answers(agent([pool(odd)], []))).toEqual([`${ip(2)} server of default/old`]);
  });
});

const last = fc.integer({ min: 2, max: 9 });
const macs = fc.integer({ min: 1, max: 4 });
const writtenPool = fc.record({
  second: fc.integer({ min: 0, max: 2 }),
  server: last,
  router: fc.option(last, { nil: undefined }),
  range: fc.tuple(last, last),
  reservations: fc.array(fc.record({ at: last, mac: macs }), { maxLength: 3 }),
  isWrong: fc.boolean(),
  bits: fc.constantFrom(24, 25, 28),
});
const writtenHold = fc.record({ at: last, mac: macs, pool: fc.integer({ min: 0, max: 3 }) });

test("whatever pools and Holds there are, agents of each pool together serve what one of the network does, to one owner", () => {
  fc.assert(
    fc.property(fc.array(writtenPool, { maxLength: 4 }), fc.array(writtenHold, { maxLength: 4 }), (written, held) => {
      const pools = written.map((each, index) => pool({ ...each, name: `p${index}` }));
      // An address is one object: the ledger's word.
      const holds = [...new Map(held.map((each) => [each.at, hold(each.at, each.mac, `p${each.pool}`)])).values()];
      const whole = agent(pools, holds);
      const each = pools.map(({ metadata }) => agent(pools.toReversed(), holds.toReversed(), metadata.name));
      const together = each.flatMap(answers);
      // A Hold of a pool that is not there is nobody's to serve, and the network's agent finds no pool for it.
      const known = new Set(pools.map(({ metadata }) => `default/${metadata.name}`));
      const lost = [...whole.v4.told].filter(({ definition }) => !known.has(definition.pool));
      const missing = new Set(lost.map(({ address, mac: of }) => `${ip(address & 255)} ${of}`));
      expect(together.toSorted()).toEqual(
        answers(whole)
          .filter((line) => !missing.has(line))
          .toSorted(),
      );
      const addresses = together.map((line) => line.split(" ")[0]);
      expect(new Set(addresses).size).toBe(addresses.length);
      // Nobody serves, beside Holds, what the controller may give to a VM at any time.
      const plans = pools.flatMap((object) => readPool(object).plan ?? []);
      const giving = plans.filter((plan) => clashWith(plan, plans, "ipv4") === undefined);
      const isHeld = new Set(held.map(({ at }) => ip(at)));
      for (const address of addresses) {
        if (isHeld.has(address!)) continue;
        const givers = giving.filter(({ ipv4 }) => ipv4.usable.has(parseAddress(address!)));
        expect(givers.map(({ key }) => key)).toEqual([]);
      }
    }),
    { numRuns: 300 },
  );
});
