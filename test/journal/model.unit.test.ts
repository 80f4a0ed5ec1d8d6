// Random requests, many at once, on a disk that fails at any call and loses its power at any call, against a model that
// knows for every address what may be true of it.
import fc from "fast-check";
import { expect, it } from "vitest";

import { LedgerError } from "../../src/ipam/ledger.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { parseAddress } from "../../src/net/address.ts";
import { type DiskCall, type Flaw, flawedDisk } from "./flawed-disk.ts";
import { MemoryDisk } from "./memory-disk.ts";
import { domain, grantOf, pod } from "./slice.ts";

interface Ask {
  readonly kind: "take" | "release" | "renew" | "seal" | "unseal";
  readonly at: number;
  readonly by: string;
  /** So many turns after the others of its round: while their batch is on its way. */
  readonly afterTurns: number;
}

/** Who may have an address: names, and "" for nobody. At `count`: whether the slice is sealed, "" for not. */
type May = ReadonlySet<string>;

const count = 3;
const grant = grantOf("10.0.0.0/28");
const addressOf = (at: number) => parseAddress(`10.0.0.${at}`);
/** Time passes with every look at the clock: a full disk is tried again now and then. */
let nowMs = 1_000_000;
const options = { folder: "/j", now: () => (nowMs += 300), ballastBytes: 8192, slackLines: 2 };

class Model {
  readonly #may: May[] = Array.from({ length: count + 1 }, () => new Set([""]));
  /** Asked and not answered. */
  readonly #open = new Set<Ask>();

  #asked = 0;
  readonly #serials = new Map<Ask, number>();
  /** The last one that was answered, for each address. */
  readonly #answered: number[] = Array.from({ length: count + 1 }, () => 0);
  /** How often the slice was asked to be unsealed so far. */
  unseals = 0;

  ask(ask: Ask): void {
    if (ask.kind === "unseal") this.unseals += 1;
    this.#open.add(ask);
    this.#serials.set(ask, (this.#asked += 1));
  }

  /** It was answered: this is true now, or perhaps was before, where a later question was answered before it. */
  know(ask: Ask, who: string): void {
    this.#open.delete(ask);
    const serial = this.#serials.get(ask)!;
    const isLate = serial < this.#answered[ask.at]!;
    const may = this.#may[ask.at]!;
    if (!isLate) expect(whatMayBe(may, [...this.#waiting(ask.at), ask])).toContain(who);
    this.#may[ask.at] = new Set(isLate ? [...may, who] : [who]);
    this.#answered[ask.at] = Math.max(serial, this.#answered[ask.at]!);
  }

  fail(ask: Ask, code: string): void {
    this.#open.delete(ask);
    // It may have come after one that is still on its way: a failed batch has both, in the order of the journal.
    if (code === "outcome-unknown") this.#may[ask.at] = whatMayBe(this.#may[ask.at]!, [...this.#waiting(ask.at), ask]);
  }

  /** With what is on its way. */
  all(): readonly May[] {
    return this.#may.map((may, at) => whatMayBe(may, this.#waiting(at)));
  }

  #waiting(at: number): Ask[] {
    return [...this.#open].filter((ask) => ask.at === at);
  }
}

/** In any order: of requests that are under way at once, the one that was asked first may wait for the disk. */
function whatMayBe(may: May, asks: readonly Ask[]): May {
  const all = new Set(may);
  for (let before = -1; before < all.size;) {
    before = all.size;
    for (const { kind, by } of asks) {
      if (kind === "take" && all.has("")) all.add(by);
      if (kind === "release" && all.has(by)) all.add("");
      if (kind === "seal") all.add("sealed");
      if (kind === "unseal") all.add("");
    }
  }
  return all;
}

async function carryOut(journal: Journal, model: Model, ask: Ask): Promise<void> {
  const { kind, by } = ask;
  for (let turn = 0; turn < ask.afterTurns; turn++) await Promise.resolve();
  const address = addressOf(ask.at);
  const mayBeOpen = model.all()[count]!.has("");
  const { unseals } = model;
  model.ask(ask);
  try {
    if (kind === "renew") {
      await journal.renewed(ask.at * 1_000_000);
      model.fail(ask, "done");
    } else if (kind === "take") {
      const answer = await journal.take({ domain, address, owner: pod(by) });
      // What is sealed for certain gives nothing away. A take that waited for the ballast may have met it unsealed.
      if (answer.outcome === "taken") expect(mayBeOpen || model.unseals > unseals).toBe(true);
      model.know(ask, answer.outcome === "cooling" ? "?" : answer.hold.owner.name);
    } else if (kind === "seal" || kind === "unseal") {
      await journal.put({ ...grant, sealed: kind === "seal" });
      model.know(ask, kind === "seal" ? "sealed" : "");
    } else {
      const answer = await journal.release({ domain, address, owner: ownerKey(pod(by)), cooldownMs: 0 });
      model.know(ask, answer.outcome === "superseded" ? answer.hold.owner.name : "");
    }
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    model.fail(ask, error.code);
  }
}

function expectWithin(journal: Journal, may: readonly May[]): void {
  for (const [at, names] of may.slice(0, count).entries()) {
    expect([...names]).toContain(journal.get(domain, addressOf(at))?.owner.name ?? "");
  }
  expect([...may[count]!]).toContain(journal.grants()[0]!.sealed ? "sealed" : "");
}

const afterTurns = fc.nat(20);
const ask: fc.Arbitrary<Ask> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom("take", "release"),
      at: fc.nat(count - 1),
      by: fc.constantFrom("a", "b", "c"),
      afterTurns,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("renew"), at: fc.nat(count - 1), by: fc.constant(""), afterTurns }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("seal", "unseal", "unseal"),
      at: fc.constant(count),
      by: fc.constant(""),
      afterTurns,
    }),
  },
);
const flaw: fc.Arbitrary<Flaw> = fc.record({
  code: fc.constantFrom("EIO", "ENOSPC"),
  torn: fc.nat(400),
  late: fc.boolean(),
});
const flaws = fc.array(fc.tuple(fc.nat(200), flaw), { maxLength: 20 });
const rounds = fc.array(fc.array(ask, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 25 });

interface Cut {
  readonly disk: MemoryDisk;
  readonly may: readonly May[];
  readonly call: DiskCall;
}

it("gives no address twice and loses none, whatever fails and whenever the power goes", async () => {
  const seen = new Set<DiskCall>();
  await fc.assert(
    fc.asyncProperty(
      rounds,
      flaws,
      fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
      async (story, plan, stream) => {
        const chance = () => stream.next().value!;
        const memory = new MemoryDisk();
        const model = new Model();
        const planned = new Map(plan);
        const cuts: Cut[] = [];
        let calls = 0;
        let isArmed = false;
        const disk = flawedDisk((call) => {
          if (!isArmed) return undefined;
          calls += 1;
          seen.add(call);
          if (chance() < 0.1) cuts.push({ disk: memory.afterPowerCut(chance), may: model.all(), call });
          return planned.get(calls);
        }, memory);
        const journal = await Journal.open({ ...options, disk });
        await journal.put(grant);
        isArmed = true;
        for (const asks of story) await Promise.all(asks.map((each) => carryOut(journal, model, { ...each })));
        isArmed = false;
        await Array.fromAsync(journal.list(domain));
        expectWithin(journal, model.all());
        cuts.push({ disk: memory.afterPowerCut(chance), may: model.all(), call: "read" });
        for (const { disk: left, may } of cuts) {
          const again = await Journal.open({ ...options, disk: left });
          // A power cut tears, it does not damage: the journal must go on by itself.
          expect(again).toMatchObject({ id: journal.id, damaged: 0, suspect: "" });
          expectWithin(again, may);
          await again.put(grant);
          const fresh = { domain, address: addressOf(count), owner: pod("new") };
          expect(await again.take(fresh)).toMatchObject({ outcome: "taken" });
          await again.close();
        }
        await journal.close();
      },
    ),
    { numRuns: 400 },
  );
  // The stories reached all of it: batches, cutting back, compaction and healing.
  expect([...seen].sort()).toEqual([
    "append",
    "create",
    "datasync",
    "read",
    "remove",
    "rename",
    "syncFolder",
    "truncate",
  ]);
}, 120_000);
