import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { holdObjectOf } from "../api/holds/hold-object.ts";
import { quarantineAnnotation } from "../api/vmnet/marks.ts";
import type { StoredHold, StoredManagedPool } from "../cluster/resources.ts";
import { silent } from "../log/log.ts";
import { parseAddress } from "../net/address.ts";
import { Findings } from "./compile/finding.ts";
import { ServedNetwork } from "./served-network.ts";

const name = "default/net-1";
const domain = `vm-network:${name}`;

interface Written {
  readonly address: number;
  readonly mac: number;
  readonly second?: number;
  readonly quarantine?: string;
}

function hold({ address, mac, second = 0, quarantine }: Written): StoredHold {
  const nic = `02:00:00:00:00:${mac.toString(16).padStart(2, "0")}`;
  const owner = { kind: "nic", uid: `u-${mac}`, namespace: "default", name: `vm-${mac}`, nic } as const;
  const note = { pool: "default/pool-1" };
  const made = holdObjectOf({ domain, address: parseAddress(`10.1.0.${address}`), owner, note }, "kube-system");
  const creationTimestamp = new Date(1000 * second).toISOString();
  const annotations = { ...made.metadata.annotations, ...(quarantine && { [quarantineAnnotation]: quarantine }) };
  return {
    ...made,
    metadata: { ...made.metadata, uid: `${address}-${mac}`, creationTimestamp, annotations },
  } as StoredHold;
}

function pool(config: object = {}): StoredManagedPool {
  return {
    apiVersion: "network.harvesterhci.io/v1alpha1",
    kind: "IPPool",
    metadata: { namespace: "default", name: "pool-1" },
    spec: { networkName: name, ipv4Config: { cidr: "10.1.0.0/24", serverIP: "10.1.0.2", ...config } },
  };
}

const made = () => new ServedNetwork({ name, findings: new Findings(silent) });
const told = (network: ServedNetwork) => {
  network.takeDifference();
  return Array.from(network.v4.told, ({ address, mac }) => `.${address & 255} ${mac.slice(-2)}`).toSorted();
};
const shown = (records: readonly { readonly address: number; readonly mac: string }[]) =>
  records.map(({ address, mac }) => `.${address & 255} ${mac.slice(-2)}`);

describe("what a network serves", () => {
  test("a pool of another namespace serves nobody, unless an administrator writes there", () => {
    const trusted = new Set(["admins"]);
    const network = new ServedNetwork({ name, trusted, findings: new Findings(silent) });
    const reservations = [{ ipAddress: "10.1.0.9", macAddress: "02:00:00:00:00:09" }];
    const of = (namespace: string) => ({ ...pool({ reservations }), metadata: { namespace, name: "pool-2" } });
    network.setPool(of("tenant"));
    expect([network.takeDifference().v4.setPools, told(network)]).toEqual([[], []]);
    network.setPool(of("admins"));
    expect([network.takeDifference().v4.setPools.length, told(network)]).toEqual([1, [".9 09"]]);
  });

  test("an address that goes to another MAC in one change is one difference", () => {
    const network = made();
    network.setHold(hold({ address: 5, mac: 1 }));
    network.takeDifference();
    network.setHold(hold({ address: 5, mac: 2 }));
    const { deleted, set } = network.takeDifference().v4;
    expect([shown(deleted), shown(set)]).toEqual([[".5 01"], [".5 02"]]);
  });

  test("a MAC that moves to another address leaves the old one, whichever is told first", () => {
    for (const order of [0, 1]) {
      const network = made();
      network.setHold(hold({ address: 5, mac: 1 }));
      network.takeDifference();
      const steps = [
        () => network.setHold(hold({ address: 6, mac: 1, second: 9 })),
        () => network.deleteHold(hold({ address: 5, mac: 1 }).metadata.name!),
      ];
      steps[order]!();
      steps[1 - order]!();
      const { deleted, set } = network.takeDifference().v4;
      expect([shown(deleted), shown(set)]).toEqual([[".5 01"], [".6 01"]]);
    }
  });

  test("of two Holds with one MAC the newer is served, and the older when that is gone", () => {
    const network = made();
    network.setHold(hold({ address: 6, mac: 1, second: 9 }));
    network.setHold(hold({ address: 5, mac: 1, second: 1 }));
    expect(told(network)).toEqual([".6 01"]);
    network.deleteHold(hold({ address: 6, mac: 1 }).metadata.name!);
    expect(told(network)).toEqual([".5 01"]);
  });

  test("a reservation yields to a Hold of its address or its MAC", () => {
    const network = made();
    network.setPool(
      pool({
        reservations: [
          { ipAddress: "10.1.0.5", macAddress: "02:00:00:00:00:08" },
          { ipAddress: "10.1.0.7", macAddress: "02:00:00:00:00:09" },
        ],
      }),
    );
    expect(told(network)).toEqual([".5 08", ".7 09"]);
    network.setHold(hold({ address: 5, mac: 1 }));
    network.setHold(hold({ address: 6, mac: 9 }));
    expect(told(network)).toEqual([".5 01", ".6 09"]);
    network.retainHolds(() => false);
    expect(told(network)).toEqual([".5 08", ".7 09"]);
    network.setPool(pool());
    expect(told(network)).toEqual([]);
  });

  test("a change of a quarantine alone changes no binding", () => {
    const network = made();
    network.setHold(hold({ address: 5, mac: 1 }));
    network.takeDifference();
    network.setHold(hold({ address: 5, mac: 1, quarantine: "2026-11-18T05:00:00.000Z probe" }));
    const { deleted, set, quarantines } = network.takeDifference().v4;
    expect([deleted, set, shown(quarantines)]).toEqual([[], [], [".5 01"]]);
    network.setHold(hold({ address: 5, mac: 1 }));
    expect(shown(network.takeDifference().v4.quarantines)).toEqual([".5 01"]);
  });

  test("a pool of another network, a bad one and a paused one are not served", () => {
    const network = made();
    network.setPool(pool());
    expect(network.takeDifference().v4.setPools).toHaveLength(1);
    network.setPool({ ...pool(), spec: { ...pool().spec, networkName: "default/other" } });
    expect(network.takeDifference().v4).toMatchObject({ setPools: [], deletePools: ["default/pool-1"] });
    network.setPool(pool({ cidr: "zz" }));
    expect(network.takeDifference().v4).toMatchObject({ setPools: [], deletePools: ["default/pool-1"] });
  });

  test("is the same for the same records, in whatever order they came, and differences add up to it", () => {
    const record = fc.record({
      address: fc.integer({ min: 5, max: 9 }),
      mac: fc.integer({ min: 1, max: 4 }),
      second: fc.integer({ min: 0, max: 3 }),
    });
    const step = fc.record({ is: fc.constantFrom("set", "delete"), record });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.array(fc.boolean()), (steps, looks) => {
        const network = made();
        const left = new Map<number, Written>();
        const wire = new Map<number, string>();
        steps.forEach(({ is, record: written }, index) => {
          if (is === "set") {
            network.setHold(hold(written));
            left.set(written.address, written);
          } else {
            network.deleteHold(hold(written).metadata.name!);
            left.delete(written.address);
          }
          if (looks[index]) apply(network, wire);
        });
        apply(network, wire);
        const again = made();
        for (const written of [...left.values()].reverse()) again.setHold(hold(written));
        expect(told(network)).toEqual(told(again));
        expect([...wire].map(([address, mac]) => `.${address & 255} ${mac.slice(-2)}`).toSorted()).toEqual(told(again));
      }),
    );
  });
});

/** As a wire carries it out: a MAC has one address there. */
function apply(network: ServedNetwork, wire: Map<number, string>): void {
  const { deleted, set } = network.takeDifference().v4;
  for (const { address } of deleted) wire.delete(address);
  for (const { address, mac } of set) {
    for (const [at, other] of wire) if (other === mac) wire.delete(at);
    wire.set(address, mac);
  }
}
