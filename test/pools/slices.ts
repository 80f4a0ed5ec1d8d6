// `holdfast check`, `who`, `pools` and `slices` where a range is cut into slices, on a server.
import { beforeEach, expect, it } from "vitest";

import { nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import { examine } from "../../src/check/examine.ts";
import { poolRows } from "../../src/check/pool-table.ts";
import { repair } from "../../src/check/repair.ts";
import { readSnapshot } from "../../src/check/snapshot.ts";
import { parseAsked, whoHolds } from "../../src/check/who.ts";
import { offBy } from "../../src/cluster/fencing.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import {
  leaseObject,
  type SliceParts,
  sliceObject,
  slicedState,
  slicePoolObject,
} from "../../src/slices/testing/objects.ts";
import { until } from "../conformance/api/until.ts";
import { background, command } from "./command.ts";
import { type Fixture, system } from "./fixture.ts";
import { whileTimePasses } from "./watching.ts";

const signal = new AbortController().signal;
const name = "blue-n1-10.0.0.0-24";
/** A process of Node on a busy machine, several times. */
const patienceMs = 60_000;

export function sliceStories(fixture: () => Fixture): void {
  const look = () => readSnapshot({ client: fixture().client, systemNamespace: system, now: Date.now, signal });
  const find = async () => examine(await look());
  const slice = (parts: SliceParts) => fixture().client.create(kinds.ipPools, sliceObject(parts));
  const lease = (node: string, renewedMs: number) =>
    fixture().client.create(kinds.leases, leaseObject(node, renewedMs));
  const held = (pod: string, uid: string) => ({ id: "c", podref: `shop/${pod}`, ifname: "net1", uid });

  /** A network, a sliced range of it, and node n1 with the pod shop/web on its slice. */
  beforeEach(async () => {
    await fixture().clear();
    await fixture().node("n1");
    const ipam = { type: "holdfast", range: "10.0.0.0/16", network_name: "blue", node_slice_size: "/24" };
    await fixture().client.create(kinds.networkAttachmentDefinitions, {
      metadata: { namespace: "shop", name: "blue" },
      spec: { config: JSON.stringify({ cniVersion: "1.0.0", name: "blue", type: "bridge", ipam }) },
    });
    const { status, ...object } = slicePoolObject();
    const made = await fixture().client.create(kinds.nodeSlicePools, object);
    await fixture().client.update(kinds.nodeSlicePools, { ...made, status: status! });
    await fixture().client.create(kinds.configMaps, slicedState({}));
    const networks = [{ name: "shop/blue", interface: "net1", ips: ["10.0.0.5"] }];
    const uid = await fixture().pod("shop", "web", { networks });
    await slice({ entries: { "5": held("web", uid) } });
  });

  it("a slice is no shared pool: it is neither adopted nor unused, and all fits together", async () => {
    await lease("n1", Date.now());
    expect(await find()).toEqual([]);
  });

  it("one line of pools, and who has an address on which node", async () => {
    await fixture().hold("10.0.240.1", { uid: "u", name: "vm" }, { domain: "network:blue" });
    expect(poolRows(await look())).toEqual([
      {
        namespace: system,
        name: "blue",
        network: "blue",
        range: "10.0.0.0/16",
        total: "65534",
        used: "2",
        free: "65532",
        definitions: ["shop/blue"],
        sliceSize: "/24",
      },
    ]);
    expect(whoHolds(await look(), parseAsked("10.0.0.5"))).toMatchObject([
      { owner: "pod shop/web (net1)", node: "n1", slice: "10.0.0.0/24", object: `IPPool ${system}/${name}` },
    ]);
  });

  it("--repair leaves slices to their nodes", async () => {
    await lease("n1", Date.now());
    await fixture().deletePod("shop", "web");
    const before = await fixture().readPool(name);
    const snapshot = await look();
    const findings = examine(snapshot);
    expect(findings.map(({ code, severity }) => `${severity} ${code}`)).toEqual(["info entry-without-pod"]);
    const clock = new ManualClock();
    const common = {
      client: fixture().client,
      ledgerOf: () => fixture().ledger(),
      cooldownMs: 0,
      coexistence: false,
      signal,
    };
    expect(await whileTimePasses(clock, repair(snapshot, findings, { ...common, clock }))).toEqual([]);
    expect(await fixture().readPool(name)).toEqual(before);
  });

  it(
    "the commands: slices, check, and release, which refuses a node that is Ready",
    async () => {
      const holdfast = (...argv: string[]) => command(...argv, "--kubeconfig", fixture().server.kubeconfig);
      await lease("n1", Date.now() - 3_600_000);
      const shown = await holdfast("slices", "--node", "n1", "-o", "json");
      const { ranges } = JSON.parse(shown.out) as { ranges: object[] };
      expect(ranges).toMatchObject([
        {
          pool: "blue",
          phase: "open",
          rows: [{ node: "n1", state: "active", used: 1, leaseAgeSeconds: expect.any(Number) as unknown }],
        },
      ]);
      const checked = await holdfast("check");
      expect({ code: checked.code, out: checked.out }).toEqual({
        code: 1,
        out: expect.stringContaining("warning node-silent") as unknown,
      });

      const flags = ["--yes-the-node-is-off", "--observe-seconds", "0", "--no-wait"];
      const refused = await holdfast("slices", "release", "n1", ...flags);
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("Node n1 is Ready") as unknown });
      await fixture().node("n1", "Unknown");
      const released = await holdfast("slices", "release", "n1", ...flags);
      expect({ code: released.code, err: released.err }).toEqual({ code: 0, err: "" });
      expect(released.out).toContain("Node n1 is declared off, with 1 slice.");
      const at = { namespace: system, name: nodeLeaseName("n1") };
      expect(offBy(await fixture().client.get(kinds.leases, at))).toMatch(/^\S+@\S+ at 20\d\d-/);
      expect((await find()).map(({ code }) => code)).toEqual(["slice-fenced"]);
    },
    patienceMs,
  );

  it(
    "a controller that leads removes what was released",
    async () => {
      await fixture().node("n1", "Unknown");
      await fixture().node("n2");
      const flags = [
        "--metrics-port",
        "0",
        "--metrics-host",
        "127.0.0.1",
        "--whereabouts-silent-minutes",
        "0",
        "--fence-silence-seconds",
        "5",
      ];
      const holdfast = (...argv: string[]) => command(...argv, "--kubeconfig", fixture().server.kubeconfig);
      await using _ = background("controller", ...flags, "--kubeconfig", fixture().server.kubeconfig);
      const before = (await fixture().readPool(name)).metadata.uid;
      await until("the controller has granted n2 a slice", async () => (await look()).slices.slices.length === 2);
      const confirmed = ["--yes-the-node-is-off", "--observe-seconds", "0", "--timeout-seconds", "60"];
      const released = await holdfast("slices", "release", "n1", ...confirmed);
      expect({ code: released.code, err: released.err }).toEqual({ code: 0, err: "" });
      expect(released.out).toContain("Removed: what no pod holds of them is free for others.");
      const { slices } = (await look()).slices;
      expect(slices.filter(({ uid }) => uid === before)).toEqual([]);
      expect(slices.every(({ node, entries }) => node === "n2" || entries.length === 0)).toBe(true);
    },
    4 * patienceMs,
  );
}
