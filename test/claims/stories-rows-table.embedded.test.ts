// Every row of the state machine of a persistent address (its event and the states it starts from) against the stories:
// a row without one would be a promise without a proof.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, it } from "vitest";

import { rowStories } from "./stories/rows.ts";

const rows = [
  ["VM or VMI appears", "NONE"],
  ["VM or VMI appears", "FOREIGN"],
  ["VMI without a VM", "NONE"],
  ["pod attaches", "PEND"],
  ["pool exhausted or conflict", "PEND"],
  ["pod attaches", "RSVD"],
  ["2nd launcher, same owner UID", "BOUND"],
  ["3rd launcher", "MIGR"],
  ["pod of another owner UID", "any"],
  ["source or target pod ends", "MIGR"],
  ["pod force-deleted", "BOUND"],
  ["hot-plug: the reference is in the pod before the claim exists", "NONE"],
  ["last pod ends", "BOUND"],
  ["hot-plug", "per NIC"],
  ["hot-unplug requested", "BOUND"],
  ["unplug, VM stopped", "RSVD"],
  ["detached in all pods", "DETACH"],
  ["migration during unplug", "DETACH"],
  ["re-plug before release", "DETACH"],
  ["VM delete, background", "BOUND"],
  ["VM delete, background", "MIGR"],
  ["VM delete, foreground", "BOUND"],
  ["VM delete, foreground", "MIGR"],
  ["VM delete", "RSVD, PEND"],
  ["VM delete, orphan cascade", "BOUND"],
  ["a VM of the same name adopts an orphaned, running VMI", "BOUND"],
  ["VMI gone and zero pods, and the owner UID gone or deleting", "TERM"],
  ["VMI gone and zero pods, the owner alive (a stopped VM)", "TERM"],
  ["pod of the same owner attaches", "TERM"],
  ["same-name VM created", "TERM"],
  ["user deletes the claim, VM alive", "BOUND"],
  ["user deletes the claim, VM alive", "RSVD"],
  ["user deletes the claim, VM alive", "BOUND, RSVD"],
  ["a claim made by hand, without an owner", "PEND, RSVD"],
  ["finalizer force-removed, pod alive", "TERM"],
  ["NAD flag off, NAD deleted", "BOUND, RSVD"],
  ["subnet shrinks", "any"],
  ["controller restart", "any"],
  ["restore from backup", "RSVD"],
  ["cooldown over, probe clean", "QUAR"],
].map(([event, from]) => `${event} / ${from}:`);

/** Told with the webhooks, on both servers: see stories/rows.ts. */
const validated = "user deletes the claim, VM alive / BOUND, RSVD:";

/** As the embedded API and the real server tell them. */
const told: string[] = [];
for (const part of rowStories) part((name) => void told.push(name));

it.each(rows.filter((row) => row !== validated))("%s has its story, on both servers", (row) => {
  expect(told.filter((name) => name.startsWith(row))).not.toEqual([]);
});

it("no story is of a row that is not in the table", () => {
  const others = told.filter((name) => / \/ .*:/.test(name) && !rows.some((row) => name.startsWith(row)));
  expect(others).toEqual([]);
});

it("every part is told on the embedded API, too", () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /^stories-rows-(?!table)/.test(name));
  const text = files.map((name) => readFileSync(join(import.meta.dirname, name), "utf8")).join("\n");
  for (const part of rowStories) expect(text).toMatch(new RegExp(`onEmbedded\\("[^"]+", ${part.name}\\)`));
  expect(text).toContain(validated);
});
