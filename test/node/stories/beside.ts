import { expect, it } from "vitest";

import { ipPools, reservations } from "../../../src/cluster/resources.ts";
import { volume } from "../../volume.ts";
import { PlayedWhereabouts } from "../played-whereabouts.ts";
import { DaemonWriter, race, type RaceNetwork } from "../race.ts";
import type { GetFixture } from "../suite.ts";

/** ADDs of each of the eight lanes; `RACE_ROUNDS=400` is some 3,000 for each network. */
const rounds = Number(process.env["RACE_ROUNDS"] ?? volume(10, 50));

export function besideStories(fixture: GetFixture): void {
  it.each<RaceNetwork>([
    { name: "race4", range: "10.77.0.0/27", size: 30, overlaps: true },
    { name: "race6", range: "fd00:77::/123", size: 30, overlaps: true },
    { name: "raceown", range: "10.78.0.0/27", size: 30, overlaps: false },
    { name: "race-elsewhere", range: "10.79.0.0/27", size: 30, overlaps: true, namespace: "race-pools" },
  ])("$range, overlaps protected: $overlaps: no address is given twice", { timeout: 900_000 }, async (network) => {
    const { transport, admin } = fixture();
    const { namespace = "kube-system" } = network;
    await using _ = await fixture().beside(network.namespace);
    const daemonFixture = await fixture().daemon();
    const ours = Array.from({ length: 4 }, () => new DaemonWriter(daemonFixture));
    const theirs = [true, false, false, false].map((lease) => new PlayedWhereabouts({ transport, lease, namespace }));
    const { given, duplicates, reasons } = await race(network, [...ours, ...theirs], rounds);
    expect({ duplicates, reasons }).toMatchObject({ duplicates: [] });
    for (const name of ["holdfast", "whereabouts", "whereabouts without its lease"]) {
      expect(given[name] ?? 0, `${name}: ${reasons.join(" | ")}`).toBeGreaterThan(rounds / 5);
    }
    const name = `${network.name}-${network.range.replaceAll(/[:/]/g, "-")}`;
    const { spec } = await admin.get(ipPools, { namespace, name });
    expect(spec.allocations).toEqual({});
    const left = (await admin.list(reservations, { namespace })).items;
    const ofOurs = left.filter(({ metadata }) => metadata.name?.startsWith(`${network.name}-`) && metadata.finalizers);
    expect(ofOurs.map(({ metadata }) => metadata.name)).toEqual([]);
  });
}
