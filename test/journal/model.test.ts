// Random requests, many at once, on a disk that fails at any call and loses its power at any call, against a model that knows for every
// address what may be true of it.
import fc from "fast-check";
import { expect, it } from "vitest";

import { LedgerError } from "../../src/ipam/ledger.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { parseAddress } from "../../src/net/address.ts";
import { domain, grantOf, pod } from "./fixtures.ts";
import { type DiskCall, type Flaw, flawedDisk } from "./flawed-disk.ts";
import { MemoryDisk } from "./memory-disk.ts";

interface Ask {
  readonly kind: "take" | "release" | "renew";
  readonly at: number;
  readonly by: string;
}

/** Who may have an address: names, and "" for nobody. */
type May = ReadonlySet<string>;

const count = 5;
const addressOf = (at: number) => parseAddress(`10.0.0.${at}`);
/** Time passes with every look at the clock: a full disk is tried again now and then. */
let nowMs = 1_000_000;
const options = { folder: "/j", now: () => (nowMs += 300), ballastBytes: 100, slackLines: 6 };

class Model {
  readonly #may: May[] = Array.from({ length: count }, () => new Set([""]));
  /** Asked and not answered, in the order in which they were asked. */
  readonly #open = new Set<Ask>();

  ask(ask: Ask): void {
    this.#open.add(ask);
  }

  /** It was answered: this is true now. */
  know(ask: Ask, who: string): void {
    this.#open.delete(ask);
    expect(whatMayBe(this.#may[ask.at]!, [...this.#waiting(ask.at), ask])).toContain(who);
    this.#may[ask.at] = new Set([who]);
  }

  fail(ask: Ask, code: string): void {
    this.#open.delete(ask);
    if (code === "outcome-unknown") this.#may[ask.at] = whatMayBe(this.#may[ask.at]!, [ask]);
  }

  /** With what is on its way. */
  all(): readonly May[] {
    return this.#may.map((may, at) => whatMayBe(may, this.#waiting(at)));
  }

  #waiting(at: number): Ask[] {
    return [...this.#open].filter((ask) => ask.at === at);
  }
}

function whatMayBe(may: May, asks: readonly Ask[]): May {
  const all = new Set(may);
  for (const { kind, by } of asks) {
    if (kind === "take" && all.has("")) all.add(by);
    if (kind === "release" && all.has(by)) all.add("");
  }
  return all;
}

async function carryOut(journal: Journal, model: Model, ask: Ask): Promise<void> {
  const { kind, by } = ask;
  const address = addressOf(ask.at);
  model.ask(ask);
  try {
    if (kind === "renew") {
      await journal.renewed(ask.at * 1_000_000);
      model.fail(ask, "done");
    } else if (kind === "take") {
      const answer = await journal.take({ domain, address, owner: pod(by) });
      model.know(ask, answer.outcome === "cooling" ? "?" : answer.hold.owner.name);
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
  for (const [at, names] of may.entries()) {
    expect([...names]).toContain(journal.get(domain, addressOf(at))?.owner.name ?? "");
  }
}

const ask: fc.Arbitrary<Ask> = fc.record({
  kind: fc.constantFrom("take", "take", "release", "release", "renew"),
  at: fc.nat(count - 1),
  by: fc.constantFrom("a", "b", "c"),
});
const flaw: fc.Arbitrary<Flaw> = fc.record({
  code: fc.constantFrom("EIO", "ENOSPC"),
  torn: fc.nat(400),
  late: fc.boolean(),
});
const flaws = fc.array(fc.tuple(fc.nat(250), flaw), { maxLength: 12 });
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
        await journal.put(grantOf("10.0.0.0/28"));
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
          expect(await again.take({ domain, address: addressOf(count), owner: pod("new") })).toMatchObject({
            outcome: "taken",
          });
          await again.close();
        }
        await journal.close();
      },
    ),
    { numRuns: 300 },
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
