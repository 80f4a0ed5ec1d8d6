// `holdfast check`, `who` and `slices` beside working daemons and a controller: no false alarms, nothing overlooked.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { type Api, openApi } from "../../src/apiserver/api.ts";
import { examine } from "../../src/check/examine.ts";
import { rangeTables } from "../../src/check/slices/table.ts";
import { readSnapshot } from "../../src/check/snapshot.ts";
import { parseAsked, whoHolds } from "../../src/check/who.ts";
import { pods } from "../../src/cluster/resources.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { until } from "../lab/wait.ts";
import { Fixture, type Network } from "./fixture.ts";
import { added, addMany } from "./steps.ts";
import { prepare, wipe } from "./wipe.ts";

const storyMs = 180_000;

describe("check beside a fixture", { timeout: storyMs }, () => {
  let api: Api;
  let fixture: Fixture;
  beforeAll(async () => {
    api = openApi({ path: ":memory:" });
    await prepare(new KubeClient({ transport: api.transport }));
  });
  beforeEach(() => void (fixture = new Fixture(api)));
  afterEach(async () => {
    await fixture.close();
    await wipe(fixture.admin);
  }, 60_000);
  afterAll(() => api.close());

  const look = () => {
    const { signal } = new AbortController();
    return readSnapshot({
      client: fixture.admin,
      systemNamespace: "kube-system",
      now: () => fixture.clock.wallMs(),
      signal,
    });
  };
  const told = async () =>
    examine(await look())
      .filter(({ severity }) => severity !== "info")
      .map(({ code, message }) => `${code}: ${message}`);
  /** A mirror is a second behind: what passes is no finding to wake anybody for. */
  const fits = () =>
    until(
      async () => {
        const found = await told();
        if (found.length > 0) throw new Error(found.join("\n"));
        return true;
      },
      { what: "check to find nothing", everyMs: 250, timeoutMs: 30_000 },
    );

  /** As a multi-network plugin says it of every pod that has an address. */
  const tell = async ({ name }: Network) => {
    for (const { who, address } of fixture.given) {
      const [pod = "", port = ""] = who.replace("default/", "").split(" ");
      const status = JSON.stringify([{ name: `default/${name}`, interface: port, ips: [address] }]);
      const body = { metadata: { annotations: { "k8s.v1.cni.cncf.io/network-status": status } }, status: {} };
      await fixture.admin.patch(pods, { namespace: "default", name: pod }, { type: "merge", body });
    }
  };

  it("finds nothing where pods have addresses of slices and of pieces that were lent; who knows each", async () => {
    const ipam = { range: "10.70.0.0/26", node_slice_size: "/29", floating_slice_size: "/28", network_name: "busy" };
    const net = await fixture.define("busy", ipam);
    for (const name of ["a", "b", "c"]) await fixture.join(name);
    fixture.lead();
    await addMany(fixture, net, "a", 24);
    await addMany(fixture, net, "b", 7);
    await addMany(fixture, net, "c", 9);
    await fixture.settle();
    await tell(net);
    await fits();
    const snapshot = await look();
    for (const { address, node, who } of fixture.given) {
      const [pod = ""] = who.split(" ");
      expect(whoHolds(snapshot, parseAsked(address))).toMatchObject([{ node, owner: `pod ${pod} (net1)` }]);
    }
    const [table] = rangeTables(snapshot.slices);
    expect(table?.rows.some(({ node, borrowed }) => node === "c" && borrowed)).toBe(true);
    expect(table).toMatchObject({
      network: "busy",
      phase: "open",
      floating: "10.70.0.48/28",
      totals: { used: 40, nodes: 3 },
    });
  });

  it("finds nothing after a change of the range: what was moved is held, and told as such", async () => {
    const ipam = { node_slice_size: "/28", network_name: "moved" };
    const before = await fixture.define("moved", { range: "10.71.0.0/24", ...ipam });
    for (const name of ["a", "b"]) await fixture.join(name);
    fixture.lead();
    const guest = await added(fixture, before, "a");
    await fixture.settle();
    const after = await fixture.redefine(before, { range: "10.72.0.0/24", ...ipam });
    await fixture.add(await fixture.pod("b"), after);
    await fixture.settle();
    await tell(after);
    await fits();
    const old = fixture.given.find(({ container }) => container === guest.sandbox);
    expect(whoHolds(await look(), parseAsked(old!.address))).toMatchObject([
      { owner: `pod default/${guest.name} (net1)`, slice: "" },
    ]);
  });

  it("sees a pod that uses what nobody holds", async () => {
    const net = await fixture.define("lost", { range: "10.73.0.0/24", node_slice_size: "/28", network_name: "lost" });
    await fixture.join("a");
    fixture.lead();
    const guest = await added(fixture, net, "a");
    await fixture.settle();
    await tell(net);
    const { address } = fixture.given[0]!;
    await fixture.del(guest, net);
    await until(
      async () => (await told()).some((each) => each.startsWith("not-held")) || Promise.reject(new Error("not yet")),
      {
        what: `check to miss ${address}`,
        everyMs: 250,
      },
    );
    expect(await told()).toEqual([expect.stringContaining(`uses ${address} of default/lost, and no slice shows it`)]);
  });
});
