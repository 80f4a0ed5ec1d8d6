import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";

import { continuesAnnotation } from "../../../api/claims/claim-marks.ts";
import { type HoldUser, LedgerError } from "../../../ipam/ledger.ts";
import type { ClaimOwner } from "../../../ipam/owner.ts";
import { type LedgerFault, MemoryLedger, MemoryStore } from "../../../ipam/testing/memory-ledger.ts";
import { parseAddress } from "../../../net/address.ts";
import { parseCidr } from "../../../net/prefix.ts";
import type { Share } from "../../add/shares.ts";
import { Ledgers } from "../../pools/ledgers.ts";
import type { PoolResolver } from "../../pools/pool-resolver.ts";
import { ClaimRefusal, type ClaimUse } from "../resolve/claim-binding.ts";
import { ClaimHolds } from "./claim-holds.ts";
import type { LiveUser } from "./users.ts";

const { signal } = new AbortController();
const domain = "network:net";
const { prefix } = parseCidr("10.0.0.0/24");
const owner = (uid: string): ClaimOwner => ({ kind: "claim", uid, namespace: "ns", name: "vm.blue" });
const user = (uid: string): HoldUser => ({ uid, name: uid, node: "n" });
const useOf = (uid: string, pod: string, more: Partial<ClaimUse> = {}): ClaimUse => ({
  claim: { metadata: { uid, namespace: "ns", name: "vm.blue" }, spec: { network: "net", interface: "" } },
  owner: owner(uid),
  identity: "vm-1/blue",
  user: user(pod),
  vmiUid: "vmi",
  requested: [],
  mac: undefined,
  ...more,
});
const continuing = (uid: string, before: string): Partial<ClaimUse> => ({
  claim: {
    metadata: { uid, namespace: "ns", name: "vm.blue", annotations: { [continuesAnnotation]: before } },
    spec: { network: "net", interface: "" },
  },
});
const shareOf = (uid: string, recorded?: string): Share => ({
  range: 0,
  namespace: "kube-system",
  definition: { prefix },
  owner: owner(uid),
  want: { kind: "any" },
  ...(recorded !== undefined && { recorded: { address: parseAddress(recorded), definition: { prefix } } }),
});

let store: MemoryStore;
let faults: LedgerFault[];
let holds: ClaimHolds;
let paused: string;
/** UIDs of claims. */
let existing: Set<string>;
let ledger: MemoryLedger;
function renew(): void {
  store = new MemoryStore();
  faults = [];
  ledger = new MemoryLedger(store, { now: () => 1, fault: () => faults.shift() });
  const picture = { domain, met: () => {} };
  const poolResolver = { open: async () => ({ picture, pool: undefined, name: "ns/pool" }) } as unknown as PoolResolver;
  paused = "";
  existing = new Set();
  const isGone = async ({ uid }: ClaimOwner) => !existing.has(uid);
  holds = new ClaimHolds({ ledgers: new Ledgers(() => ledger), poolResolver, paused: () => paused, isGone });
}
beforeEach(renew);

const put = (address: string, uid: string, more: { identity?: string; users?: HoldUser[] } = {}) => {
  const { identity = "vm-1/blue", users = [] } = more;
  return ledger.take({ domain, address: parseAddress(address), owner: owner(uid), note: { identity }, users });
};
const all = async () => {
  const found: string[] = [];
  for await (const hold of ledger.list(domain)) {
    found.push([String(hold.address), hold.owner.uid, ...(hold.users ?? []).map(({ uid }) => uid)].join(" "));
  }
  return found.sort();
};
const found = async (share: Share, use: ClaimUse) => {
  const [held] = await holds.find([share], use, signal);
  return held === undefined ? undefined : String(held.hold.address);
};

describe("what a claim holds", () => {
  it("is read where the status says, and searched for where it says nothing or is wrong", async () => {
    await put("10.0.0.7", "c");
    await put("10.0.0.8", "other", { identity: "vm-2/blue" });
    existing.add("c");
    expect(await found(shareOf("c", "10.0.0.7"), useOf("c", "p"))).toBe("10.0.0.7");
    expect(await found(shareOf("c"), useOf("c", "p"))).toBe("10.0.0.7");
    expect(await found(shareOf("c", "10.0.0.8"), useOf("c", "p"))).toBe("10.0.0.7");
    expect(await found(shareOf("c", "10.0.0.9"), useOf("c", "p"))).toBe("10.0.0.7");
    expect(await found(shareOf("none"), useOf("none", "p"))).toBeUndefined();
  });

  it("of two that a race left, is the one that pods use", async () => {
    await put("10.0.0.7", "c");
    await put("10.0.0.9", "c", { users: [user("p")] });
    expect(await found(shareOf("c"), useOf("c", "p"))).toBe("10.0.0.9");
  });

  it.each([
    ["by its status", "10.0.0.7"],
    ["by a search", undefined],
  ])("is passed on from the claim before, with its users, found %s", async (_, recorded) => {
    await put("10.0.0.7", "old", { users: [user("p")] });
    expect(await found(shareOf("new", recorded), useOf("new", "q", continuing("new", "old")))).toBe("10.0.0.7");
    expect(await all()).toEqual(["10.0.0.7 new p"]);
  });

  it("is passed on also where the leader did not know of the claim before, and not while that is there", async () => {
    await put("10.0.0.7", "old", { users: [user("p")] });
    existing.add("old");
    expect(await found(shareOf("new"), useOf("new", "q"))).toBeUndefined();
    existing.clear();
    expect(await found(shareOf("new"), useOf("new", "q"))).toBe("10.0.0.7");
    expect(await all()).toEqual(["10.0.0.7 new p"]);
  });

  it("is passed on where a VM adopted the VMI that had it, and is the VM's from then on", async () => {
    await put("10.0.0.7", "old", { identity: "vmi-1/blue" });
    const adopted = useOf("new", "q", { vmiUid: "vmi-1" });
    expect(await found(shareOf("new"), useOf("new", "q", { vmiUid: "vmi-2" }))).toBeUndefined();
    expect(await found(shareOf("new"), adopted)).toBe("10.0.0.7");
    for await (const hold of ledger.list(domain)) expect(hold.note?.identity).toBe("vm-1/blue");
  });

  it.each([
    ["the hold is for another NIC", "vm-1/green"],
    ["the hold is another VM's", "vm-2/blue"],
  ])("is not passed on where %s, whatever the claim says", async (_, identity) => {
    await put("10.0.0.7", "old", { identity });
    for (const recorded of [undefined, "10.0.0.7"]) {
      expect(await found(shareOf("new", recorded), useOf("new", "q", continuing("new", "old")))).toBeUndefined();
    }
    expect(await all()).toEqual(["10.0.0.7 old"]);
  });
});

describe("what turns up beside an address that was just taken", () => {
  const beside = async () => {
    const taking = await put("10.0.0.9", "new", { users: [user("q")] });
    if (taking.outcome === "cooling") throw new Error("it was not taken");
    const taken = { share: shareOf("new"), held: { namespace: "kube-system", hold: taking.hold } };
    const [other] = await holds.beside([taken], useOf("new", "q"), signal);
    return other && `${other.address} ${other.owner.uid}`;
  };

  it("is nothing as a rule", async () => {
    await put("10.0.0.7", "other", { identity: "vm-2/blue" });
    await put("10.0.0.8", "old", { identity: "vm-1/green" });
    expect(await beside()).toBeUndefined();
  });

  it("is what an ADD left that was cut short, or another pod took at once: the one that pods use", async () => {
    await put("10.0.0.7", "new");
    expect(await beside()).toBe("10.0.0.7 new");
    await put("10.0.0.8", "new", { users: [user("p")] });
    expect(await beside()).toBe("10.0.0.8 new");
  });

  it("is what a claim before it had, once that is gone; nothing is passed on yet", async () => {
    await put("10.0.0.7", "old");
    existing.add("old");
    expect(await beside()).toBeUndefined();
    existing.clear();
    expect(await beside()).toBe("10.0.0.7 old");
    expect(await all()).toEqual(["10.0.0.7 old", "10.0.0.9 new q"]);
  });
});

describe("while the leader passes an address on", () => {
  /** After so many questions to the ledger, the leader does it. */
  function passedAfter(finds: number): void {
    const find = ledger.find.bind(ledger);
    ledger.find = async (...given) => {
      const answer = await find(...given);
      if (--finds === 0) await passOn();
      return answer;
    };
  }
  async function passOn(): Promise<void> {
    for await (const { address, version } of ledger.list(domain)) {
      const note = { identity: "vmi/blue" };
      await ledger.amend({ domain, address, owner: "claim:old:" as never, version, to: owner("new"), note });
    }
  }

  it.each([0, 1, 2, 3, 4])("it is found all the same, be it after %i lists", async (finds) => {
    await put("10.0.0.7", "old", { users: [user("p")] });
    if (finds === 0) await passOn();
    else passedAfter(finds);
    const use = useOf("new", "q", { ...continuing("new", "old"), identity: "vmi/blue" });
    const count = async (users: readonly HoldUser[]) => users.map((each) => ({ user: each, vmiUid: "vmi" }));
    const held =
      (await found(shareOf("new"), use)) ??
      String((await holds.inherit(shareOf("new"), use, { interfaceName: "net1", count, signal }))?.hold.address);
    expect(held).toBe("10.0.0.7");
    expect(await all()).toEqual(["10.0.0.7 new p"]);
  });
});

describe("a claim that continues one that is gone, for a VM that is gone too", () => {
  const inherit = async (more: Partial<ClaimUse> = {}, count = guests("vmi")) => {
    const use = useOf("new", "q", { ...continuing("new", "old"), identity: "vmi/blue", ...more });
    const options = { interfaceName: "net1", count, signal };
    const held = await holds.inherit(shareOf("new"), use, options);
    return held === undefined ? undefined : String(held.hold.address);
  };
  const guests = (vmiUid: string) => async (users: readonly HoldUser[]) =>
    users.map((each) => ({ user: each, vmiUid }));

  it("has the address that a pod of its guest is at, with that pod, and its own identity on it", async () => {
    await put("10.0.0.7", "old", { users: [user("p")] });
    expect(await found(shareOf("new"), useOf("new", "q", { identity: "vmi/blue" }))).toBeUndefined();
    expect(await inherit()).toBe("10.0.0.7");
    expect(await all()).toEqual(["10.0.0.7 new p"]);
    for await (const hold of ledger.list(domain)) expect(hold.note?.identity).toBe("vmi/blue");
  });

  it.each<[string, () => Promise<string | undefined>]>([
    ["another guest's pod is at it", () => inherit({}, guests("other"))],
    ["nobody who lives is at it", () => inherit({}, async () => [])],
    ["it is another NIC's", () => inherit({ identity: "vmi/green" })],
    ["it names another claim", () => inherit(continuing("new", "another"))],
    ["it is in another namespace", () => inherit({ owner: { ...owner("new"), namespace: "elsewhere" } })],
    ["the claim before is still there", () => (existing.add("old"), inherit())],
  ])("has none where %s", async (_, inheriting) => {
    await put("10.0.0.7", "old", { users: [user("p")] });
    expect(await inheriting()).toBeUndefined();
    expect(await all()).toEqual(["10.0.0.7 old p"]);
  });
});

describe("a pod that comes to an address", () => {
  const everybody = async (users: readonly HoldUser[]): Promise<LiveUser[]> =>
    users.map((each) => ({ user: each, vmiUid: "vmi" }));
  const joined = async (pod: string, count = everybody, more: Partial<ClaimUse> = {}) => {
    const use = useOf("c", pod, more);
    const [held] = await holds.find([shareOf("c")], use, signal);
    return holds.join({ share: shareOf("c"), held: held! }, use, count, signal);
  };

  it("is on the list, after those that were there", async () => {
    await put("10.0.0.7", "c", { users: [user("p")] });
    expect((await joined("q")).others.map((each) => each.user.uid)).toEqual(["p"]);
    expect(await all()).toEqual(["10.0.0.7 c p q"]);
  });

  it("is there once, however often it comes", async () => {
    await put("10.0.0.7", "c", { users: [user("p"), user("q")] });
    await joined("q");
    expect(await all()).toEqual(["10.0.0.7 c p q"]);
  });

  it("is the third of two, and refused, which changes nothing", async () => {
    await put("10.0.0.7", "c", { users: [user("p"), user("q")] });
    await expect(joined("r")).rejects.toThrow(ClaimRefusal);
    await expect(joined("r")).rejects.toThrow(/10\.0\.0\.7 of IPAMClaim ns\/vm\.blue.*pod p on n and pod q on n/);
    expect(await all()).toEqual(["10.0.0.7 c p q"]);
  });

  it("stays on the list beside those that ended: only the leader takes them out", async () => {
    await put("10.0.0.7", "c", { users: [user("p"), user("q")] });
    await joined("r", async () => []);
    expect(await all()).toEqual(["10.0.0.7 c p q r"]);
  });

  it("finds itself there where the answer was lost", async () => {
    await put("10.0.0.7", "c");
    const use = useOf("c", "p");
    const [held] = await holds.find([shareOf("c")], use, signal);
    faults = ["lost-after-commit"];
    expect((await holds.join({ share: shareOf("c"), held: held! }, use, everybody, signal)).held.hold.users).toEqual([
      user("p"),
    ]);
    expect(await all()).toEqual(["10.0.0.7 c p"]);
  });

  it("is told to come again where the hold is another's by now", async () => {
    const { hold } = (await put("10.0.0.7", "c")) as { hold: Parameters<typeof holds.join>[0]["held"]["hold"] };
    const before = { namespace: "kube-system", hold };
    await ledger.amend({
      domain,
      address: hold.address,
      owner: "claim:c:" as never,
      version: hold.version,
      to: owner("d"),
    });
    await expect(holds.join({ share: shareOf("c"), held: before }, useOf("c", "p"), everybody, signal)).rejects.toThrow(
      LedgerError,
    );
    expect(await all()).toEqual(["10.0.0.7 d"]);
  });

  it("however many come at once, at most two who live are let in, and exactly those who were let in are on the list", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
        fc.scheduler(),
        async (lives, scheduler) => {
          renew();
          await put("10.0.0.7", "c");
          const alive = new Set(lives.flatMap((isAlive, index) => (isAlive ? [`p${index}`] : [])));
          const count = async (users: readonly HoldUser[]) => {
            await scheduler.schedule(Promise.resolve());
            return (await everybody(users)).filter((each) => alive.has(each.user.uid));
          };
          const coming = lives.map((_, index) =>
            joined(`p${index}`, count).then(
              () => `p${index}`,
              () => undefined,
            ),
          );
          await scheduler.waitFor(Promise.all(coming));
          const inside = (await Promise.all(coming)).filter((each) => each !== undefined);
          const [line] = await all();
          expect(line!.split(" ").slice(2).toSorted()).toEqual(inside.toSorted());
          expect(inside.filter((each) => alive.has(each)).length).toBe(Math.min(2, alive.size));
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("while handing out is paused", () => {
  const nobody = async (): Promise<readonly LiveUser[]> => [];

  it("no hold is joined or passed on, also by an ADD that came before; who is there already is answered", async () => {
    await put("10.0.0.7", "old", { users: [user("p1")] });
    paused = "a migration";
    const next = { ...useOf("new", "p2"), ...continuing("new", "old") };
    await expect(holds.find([shareOf("new")], next, signal)).rejects.toMatchObject({ code: "unavailable" });
    const [held] = await holds.find([shareOf("old")], useOf("old", "p2"), signal);
    await expect(
      holds.join({ share: shareOf("c"), held: held! }, useOf("old", "p2"), nobody, signal),
    ).rejects.toMatchObject({
      code: "unavailable",
    });
    expect((await holds.join({ share: shareOf("c"), held: held! }, useOf("old", "p1"), nobody, signal)).held).toEqual(
      held,
    );
    expect(await all()).toEqual(["10.0.0.7 old p1"]);
    paused = "";
    await holds.join({ share: shareOf("c"), held: held! }, useOf("old", "p2"), nobody, signal);
    expect(await all()).toEqual(["10.0.0.7 old p1 p2"]);
  });
});
