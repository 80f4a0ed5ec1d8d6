// Which holds are made again, and which have another owner by now: on a ledger in memory.
import { beforeEach, describe, expect, it } from "vitest";

import { ObjectError as BadObject } from "../../api/error.ts";
import type { CniArgs } from "../../cni/invocation.ts";
import { ownerOf } from "../../cni/invocation.ts";
import { type Hold, LedgerError } from "../../ipam/ledger.ts";
import { type Owner, ownerKey, type PodOwner } from "../../ipam/owner.ts";
import { MemoryLedger, MemoryStore } from "../../ipam/testing/memory-ledger.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { silent } from "../../log/log.ts";
import { parseAddress } from "../../net/address.ts";
import type { PodState } from "../claims/fence/fence-facts.ts";
import { HoldIndex } from "./hold-index.ts";
import { Reassert } from "./reassert.ts";
import type { KnownSandbox } from "./sandboxes.ts";

const [namespace, domain, text] = ["kube-system", "network:red", "10.0.0.7"];
const address = parseAddress(text);
const signal = new AbortController().signal;
const pod = (name: string, containerId = `c-${name}`): PodOwner => ({
  kind: "pod",
  uid: `u-${name}`,
  namespace: "shop",
  name,
  interface: "eth0",
  containerId,
});
const podman = ownerOf(
  {
    command: "ADD",
    containerId: "c-p",
    interfaceName: "eth0",
    netns: "/run/netns/p",
    args: { podNamespace: "", podName: "p", podUid: "" } as CniArgs,
  },
  "n1",
);
const claim = (uid: string): Owner => ({ kind: "claim", uid, namespace: "shop", name: "vm.red" });
const note = { pool: "kube-system/red", why: "the lowest" };
const identity = { ...note, identity: "vm-1/red" };
const user = { uid: "u-p", name: "p", node: "n1" };
const sandbox = (owner: Owner, more: object = { note }): KnownSandbox => ({
  containerId: "c-p",
  interfaceName: "eth0",
  netns: "/run/netns/p",
  netnsId: "4:1",
  pod: { namespace: "shop", name: "p", uid: "u-p" },
  holds: [{ namespace, domain, address: text, owner, ...more }],
});

let store: MemoryStore;
let known: Map<string, KnownSandbox>;
let state: PodState;
let there: boolean | undefined;
let promised: boolean;
/** UID of the claim that is there. */
let existing: string;
let told: string[];
let marks: string[];
const said: string[] = [];
let made: number;
/** Once, before the ledger takes. */
let meanwhile: () => void;
let inSlice: Hold | undefined;
/** The error that the read of a slice meets instead. */
let broken: Error | undefined;
let reassert: Reassert;
let held: HoldIndex;
beforeEach(() => {
  [store, known, state, there, promised, told, marks, made] = [
    new MemoryStore(),
    new Map(),
    "alive",
    true,
    false,
    [],
    [],
    0,
  ];
  [inSlice, broken] = [undefined, undefined];
  said.splice(0);
  [held, meanwhile, existing] = [new HoldIndex(), () => {}, "one"];
  const ledger = new MemoryLedger(store, {
    now: () => 0,
    fault: () => {
      meanwhile();
      return undefined;
    },
  });
  reassert = new Reassert({
    client: { patch: async (_: unknown, at: { name: string }) => void marks.push(at.name) } as unknown as KubeClient,
    node: "n1",
    facts: { pod: async () => state, hold: async () => now() },
    isClaimGone: async ({ uid }) => uid !== existing,
    ledgers: { shared: () => ledger },
    held,
    sandboxes: {
      all: () => [...known.values()],
      get: ({ containerId }) => known.get(containerId),
      forget: async ({ containerId }) => void known.delete(containerId),
      isThere: async () => there,
      move: async (each) => each,
    },
    intents: { get: () => (promised ? ({} as never) : undefined) },
    poolResolver: { find: () => undefined },
    inSlice: async () => (broken === undefined ? inSlice : Promise.reject(broken)),
    cooldownMs: 0,
    vouchMs: () => 900_000,
    now: () => 0,
    tell: (object, _type, reason) => void told.push(`${object.kind} ${object.metadata.name} ${reason}`),
    onMade: () => (made += 1),
    log: { ...silent, error: (words) => void said.push(words) },
  });
});

const now = () => [...store.holds.values()][0];
const ledger = () => new MemoryLedger(store, { now: () => 0 });
async function put(owner: Owner, more: object = {}): Promise<Hold> {
  const outcome = await ledger().take({ domain, address, owner, ...more });
  if (outcome.outcome !== "taken") throw new Error(outcome.outcome);
  return outcome.hold;
}
const round = (afterRestore = false, listed: Hold[] = []) =>
  reassert.round({
    listed: listed.map((hold) => ({ namespace, hold })),
    afterRestore,
    signal,
  });
const live = (owner: Owner = pod("p"), more?: object) => known.set("c-p", sandbox(owner, more));

describe("a hold that is gone", () => {
  it("is made again as it was, and known", async () => {
    live();
    await round();
    expect(now()).toMatchObject({ owner: pod("p"), note });
    expect([made, held.size, told]).toEqual([1, 1, []]);
  });

  it("of a claim too, with the pod on its list", async () => {
    live(claim("one"), { note: identity, users: [user] });
    await round();
    expect(now()).toMatchObject({ owner: claim("one"), note: identity, users: [user] });
    expect(held.size, "no node's").toBe(0);
  });

  it("of a claim that is gone stays free though the pod lives on without the NIC, but after a restore", async () => {
    live(claim("one"), { note: identity, users: [user] });
    existing = "two";
    await round();
    expect([now(), made]).toEqual([undefined, 0]);
    await round(true);
    expect(now()).toMatchObject({ owner: claim("one") });
  });

  it.each<[string, () => void]>([
    ["the pod is gone: the leader has freed it", () => (state = "gone")],
    ["the pod has ended", () => (state = "over")],
    ["the sandbox's namespace is gone", () => (there = false)],
    ["its release is promised", () => (promised = true)],
  ])("is not made again where %s", async (_, change) => {
    live();
    change();
    await round();
    expect([now(), made]).toEqual([undefined, 0]);
  });

  it("is made again after a restore although the copy knows no such pod, and where nobody can tell of the namespace", async () => {
    live();
    [state, there] = ["gone", undefined];
    await round(true);
    expect(made).toBe(1);
  });

  it.each<[string, { namespace: string; uid: string }, number]>([
    ["a container of podman", { namespace: podman.namespace, uid: podman.uid }, 1],
    ["a pod of the kubelet's own", { namespace: "shop", uid: "0123456789abcdef0123456789abcdef" }, 1],
    ["a pod that is gone, in a namespace that is called as the node", { namespace: "n1", uid: "u-p" }, 0],
  ])("is made again for who the API server need not know: %s", async (_, who, times) => {
    known.set("c-p", { ...sandbox(pod("p")), pod: { ...who, name: "p" } });
    state = "gone";
    await round();
    expect(made).toBe(times);
  });

  it("is given back where the DEL came while it was made", async () => {
    live();
    meanwhile = () => known.clear();
    await round();
    expect([now(), made, held.size]).toEqual([undefined, 0, 0]);
  });

  it("that a later sandbox of the pod has taken meanwhile stays with that one", async () => {
    live();
    await put(pod("p", "later"));
    const before = now();
    await round();
    expect([now(), told]).toEqual([before, []]);
  });
});

describe("a hold of a range that was cut since", () => {
  const sliceHold = (owner: Owner): Hold => ({ domain: "slice:kube-system/blue", address, owner, version: "" });

  it("is made again, and an alarm where a slice has given the address: said once in the mark, each time to the pod", async () => {
    live();
    inSlice = sliceHold(pod("q"));
    await round();
    await round(false, [now()!]);
    expect(now()).toMatchObject({ owner: pod("p") });
    expect([told, marks.length, reassert.conflicts]).toEqual([
      ["Pod p AddressConflict", "Pod p AddressConflict"],
      1,
      1,
    ]);
  });

  it("whose slice cannot be understood is said each round, and keeps nobody waiting; a server that does not answer does", async () => {
    live();
    broken = new BadObject("bad-object", "IPPool kube-system/blue has no range.");
    await round();
    await round(false, [now()!]);
    expect([made, said.length]).toEqual([1, 2]);
    broken = new LedgerError("unavailable", "reading", { cause: broken });
    await round(false, [now()!]);
    expect(said).toEqual(Array.from({ length: 3 }, () => expect.stringContaining("whether a slice has given")));
    broken = new Error("no route");
    await expect(round(false, [now()!])).rejects.toThrow("no route");
  });

  it("also where the mirror of the slice shows it later; not where it is the pod's own", async () => {
    live();
    inSlice = sliceHold(pod("p"));
    await round();
    expect(reassert.conflicts).toBe(0);
    inSlice = sliceHold(pod("q"));
    await round(false, [now()!]);
    expect(reassert.conflicts).toBe(1);
    known.clear();
    await round();
    expect(reassert.conflicts).toBe(0);
  });
});

describe("a hold that is another's", () => {
  it("is an alarm, said once in the mark and each time to the pod; it stays", async () => {
    live();
    await put(pod("q"));
    await round();
    await round();
    expect(now()).toMatchObject({ owner: pod("q") });
    expect([told, marks.length, reassert.conflicts]).toEqual([
      ["Pod p AddressConflict", "Pod p AddressConflict"],
      1,
      1,
    ]);
    known.clear();
    expect(reassert.conflicts).toBe(0);
  });

  it("is none any more when the other has given it back, and it was made again", async () => {
    live();
    const other = await put(pod("q"));
    await round();
    expect(reassert.conflicts).toBe(1);
    const { version } = other;
    await ledger().release({ domain, address, owner: ownerKey(pod("q")), version, cooldownMs: 0 });
    await round();
    expect([now()?.owner, reassert.conflicts]).toMatchObject([pod("p"), 0]);
  });

  it("is none where the claim was made anew for the same, or has the pod on its list", async () => {
    live(claim("one"), { note: identity, users: [user] });
    await put(claim("two"), { note: identity });
    await round();
    live(); // the pod held it itself, and the claim inherited it
    await ledger().amend({ domain, address, owner: ownerKey(claim("two")), version: now()!.version, users: [user] });
    await round();
    expect([told, reassert.conflicts]).toEqual([[], 0]);
  });

  it("gives way after a restore where this node wrote it for a sandbox that is over; else not", async () => {
    live();
    const old = await put(pod("q"));
    await round(false, [old]);
    expect(now()).toMatchObject({ owner: pod("q") });
    await round(true);
    expect(now(), "of another node").toMatchObject({ owner: pod("q") });
    await round(true, [old]);
    expect(now()).toMatchObject({ owner: pod("p"), note });
    // A living sandbox is left alone.
    const other = now()!;
    known.set("c-q", { ...sandbox(pod("q")), containerId: "c-q" });
    known.delete("c-p");
    live();
    await round(true, [other]);
    expect(now()).toMatchObject({ owner: pod("p") });
  });
});
