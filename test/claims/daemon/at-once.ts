// Pods that come at once to a claim without an address, move by move: which hold stays, and which goes back when.
import { expect, it } from "vitest";

import { ipamClaims } from "../../../src/cluster/resources.ts";
import { ownerKey } from "../../../src/ipam/owner.ts";
import type { ApiRequest } from "../../../src/kube/transport/transport.ts";
import { unless } from "../../../src/kube/unless.ts";
import { ReservationLedger } from "../../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../../src/net/address.ts";
import type { DaemonFixture } from "../../node/daemon-fixture.ts";
import { CheckerRecord } from "../checker-record.ts";
import { Checker } from "../checker.ts";
import { addressesOf, persistent } from "./fixture.ts";
import type { Launcher } from "./objects.ts";
import type { GetClaimFixture } from "./suite.ts";

/** The two are at the same move; the second, or the end of its ADD, opens the way for both. */
function meeting() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  const come = () => {
    if ((count += 1) === 2) resolve();
    return promise;
  };
  return { come, end: resolve };
}

const kind = "/overlappingrangeipreservations";
const isTake = ({ method, path }: ApiRequest) => method === "POST" && path.includes(kind);
const isLook = ({ method, path }: ApiRequest) => method === "GET" && path.includes(`${kind}?`);
const isReturn = ({ method, path }: ApiRequest) => method === "DELETE" && path.includes(`${kind}/`);
const isJoin = ({ method, path }: ApiRequest) => method === "PUT" && path.includes(`${kind}/`);
const isStatus = ({ method, path }: ApiRequest) => method === "PATCH" && path.includes("/status");

export function atOnceStories(fixture: GetClaimFixture): void {
  const scene = async (prefix: string, isDual = false) => {
    const net = fixture().fresh(prefix);
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", net);
    const range = { range: "10.59.0.0/24" };
    // As where one of the daemons has an older picture of the range. With two families each has the lower of one.
    const half = (four: object, six: object) => {
      const ipRanges = [
        { ...range, ...four },
        { range: "fd00:59::/120", ...six },
      ] as const;
      return persistent(net, isDual ? { ipRanges } : ipRanges[0]);
    };
    const lower = half({ range_end: "10.59.0.127" }, { range_start: "fd00:59::80" });
    const upper = half({ range_start: "10.59.0.128" }, { range_end: "fd00:59::7f" });
    const pods = [await fixture().launcher(machine, "node1"), await fixture().launcher(machine, "node2")] as const;
    return { net, machine, claim: `${net}.blue`, config: half({}, {}), configs: [lower, upper] as const, pods };
  };
  const ask = async (pod: Launcher, config: object, daemon: DaemonFixture) => {
    const told = await fixture().ask("ADD", pod, config, "blue", daemon);
    if (told.status !== 0) expect(told.json.code).toBe(11);
    return told.status === 0;
  };
  const ledger = () => new ReservationLedger({ client: fixture().admin, namespace: "kube-system", now: Date.now });
  /** What the checker of the random runs says of the network's objects. */
  const violations = async (record: CheckerRecord, net: string) => {
    const changes = await record.whole();
    await record.stop();
    return Checker.violationsOf(changes.filter(({ object }) => object.metadata.name?.includes(net) === true));
  };
  /** As the leader does it for a status that it does not find written. Undefined: somebody was faster. */
  const show = async (net: string, claim: string): Promise<string | undefined> => {
    const { metadata, status } = await fixture().read(claim);
    const hold = (await fixture().held(net)).find((each) => each.owner.name === claim);
    if (status !== undefined || hold === undefined) return undefined;
    const { domain, address, owner, version, note } = hold;
    const marked = { domain, address, owner: ownerKey(owner), version, note: { ...note, shown: "true" } };
    if ((await ledger().amend(marked)).outcome !== "amended") return undefined;
    const ips = [`${address}/24`];
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, status: { ips } };
    const at = { namespace: "default", name: claim };
    const shown = await unless(
      ["conflict"],
      fixture().admin.patch(ipamClaims, at, { type: "merge", body }, { subresource: "status" }),
    );
    return shown?.status?.ips[0];
  };

  // Where both stand still, then go on at once: each move of a first ADD, after both have taken.
  it.each<[string, (request: ApiRequest) => boolean, boolean, boolean?]>([
    ["looks for others, in two families", isLook, false, true],
    ["gives back, in two families", isReturn, false, true],
    ["looks for others", isLook, false],
    ["looks for others, and the leader shows the first", isLook, true],
    ["joins", isJoin, false],
    ["joins, and the leader shows the first", isJoin, true],
    ["writes the status", isStatus, false],
    ["gives back", isReturn, false],
    ["gives back, and the leader shows the first", isReturn, true],
  ])("each has taken an address before either %s: one stays at every moment", async (_, isMove, isShown, isDual) => {
    const { net, claim, config, configs, pods } = await scene("moves", isDual);
    const record = await CheckerRecord.start(fixture().admin);
    const [taking, taken, moved] = [meeting(), meeting(), meeting()];
    let showing: Promise<string | undefined> | undefined;
    const adds = pods.map(async (pod, index) => {
      let [hasTaken, hasLooked, hasMoved] = [false, false, false];
      const daemon = await fixture().through(pod.node, async (request) => {
        if (!hasTaken && isTake(request)) {
          hasTaken = true;
          await taking.come();
        }
        if (hasTaken && !hasLooked && isLook(request)) {
          hasLooked = true;
          await taken.come();
        }
        if (!hasLooked || hasMoved || !isMove(request)) return;
        hasMoved = true;
        await moved.come();
        if (isShown) await (showing ??= show(net, claim));
      });
      const isAnswered = await ask(pod, configs[index]!, daemon);
      moved.end();
      return isAnswered;
    });
    await Promise.all(adds);
    const first = await fixture().add(pods[0], config);
    expect(await fixture().add(pods[1], config)).toEqual(first);
    const shown = await showing;
    if (shown !== undefined) expect(first).toEqual([shown]);
    await fixture().settled(claim, ({ status }) => status?.ips[0] === first[0]);
    expect(await violations(record, net)).toEqual([]);
  });

  it("an ADD that is refused after its take gives nothing back that the leader has shown meanwhile", async () => {
    const { net, machine, claim, config } = await scene("refused");
    const mac = "02:11:22:33:44:77";
    const pod = await fixture().launcher(machine, "node1", { more: { blue: { mac } } });
    let [hasTaken, isRivalThere] = [false, false];
    let shown: string | undefined;
    const daemon = await fixture().through("node1", async (request) => {
      hasTaken ||= isTake(request);
      if (hasTaken && isReturn(request)) shown ??= await show(net, claim);
      if (!isTake(request) || isRivalThere) return;
      isRivalThere = true;
      const owner = { kind: "claim", uid: "rival", namespace: "default", name: "rival.blue" } as const;
      const address = parseAddress("10.59.0.250");
      await ledger().take({ domain: `network:${net}`, address, owner, note: { mac } });
    });
    const { json } = await fixture().ask("ADD", pod, config, "blue", daemon);
    expect(json).toMatchObject({ code: 101, msg: expect.stringContaining(mac) as string });
    expect((await fixture().read(claim)).status?.ips).toEqual([shown]);
    expect(await fixture().lines(net)).toContain(`${shown!.split("/")[0]} claim:${claim} ${pod.name}@node1`);
  });

  it("a later sandbox of the pod waits until an earlier one's ADD has given back: it is answered with what is held", async () => {
    const { net, machine, config } = await scene("sandboxes");
    const mac = "02:11:22:33:44:78";
    const pod = await fixture().launcher(machine, "node1", { more: { blue: { mac } } });
    const owner = { kind: "claim", uid: "rival", namespace: "default", name: "rival.blue" } as const;
    const rival = { domain: `network:${net}`, address: parseAddress("10.59.0.250"), owner };
    const [returning, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isRivalThere = false;
    const daemon = await fixture().through("node1", async (request) => {
      if (isReturn(request)) {
        returning.resolve();
        await going.promise;
      }
      if (!isTake(request) || isRivalThere) return;
      isRivalThere = true;
      await ledger().take({ ...rival, note: { mac } });
    });
    const first = fixture().ask("ADD", pod, config, "blue", daemon);
    await returning.promise;
    await ledger().release({ ...rival, owner: ownerKey(owner), cooldownMs: 0 });
    const second = fixture().ask("ADD", { ...pod, sandbox: `${pod.name}-1` }, config, "blue", daemon);
    // Time enough for an answer that does not wait.
    await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 1000))]);
    going.resolve();
    expect((await first).json).toMatchObject({ code: 101 });
    const [address = ""] = addressesOf(await second);
    const held = (await fixture().held(net)).map((each) => `${each.address}/24`);
    expect(held).toEqual([address]);
  });

  // Found again by its name, it is another by then: what the ADD took for the first is passed on, or free.
  it.each<[string, (request: ApiRequest) => boolean]>([
    ["takes", isTake],
    ["looks for others", isLook],
    ["writes the status", isStatus],
  ])("a claim that is forced away and made anew before its ADD %s: the new one has one address", async (_, isMove) => {
    const { net, machine, claim, config, pods } = await scene("anew");
    let [hasTaken, isAnew] = [false, false];
    const daemon = await fixture().through("node1", async (request) => {
      const isIts = isMove(request) && (hasTaken || isTake(request));
      hasTaken ||= isTake(request);
      if (!isIts || isAnew) return;
      isAnew = true;
      await fixture().forceAway(claim);
      await fixture().claim(machine, "blue", net);
    });
    expect(await ask(pods[0], config, daemon)).toBe(false);
    expect(isAnew).toBe(true);
    const first = await fixture().add(pods[0], config);
    expect(await fixture().add(pods[1], config)).toEqual(first);
    const { status } = await fixture().settled(claim, (each) => each.status !== undefined);
    expect(status?.ips).toEqual(first);
    expect(await fixture().lines(net)).toHaveLength(1);
  });
}
