// The lab's delegating plugin does what the real Multus was recorded doing: every call of every plugin byte for byte,
// the statuses that it writes, and how each command ends. With MULTUS=file the real one is held to the same record.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { ensurePlugin } from "../lab/networks/build.ts";
import { type Story, tell, type Told } from "../lab/networks/story.ts";
import { stories } from "./networks-stories.ts";

const recorded = JSON.parse(readFileSync(join(import.meta.dirname, "networks-recorded.json"), "utf8")) as Record<
  string,
  Told
>;

test.each(Object.entries<Story>(stories))("%s", async (name, story) => {
  expect(await tell(await ensurePlugin(), story)).toEqual(recorded[name]);
});

test("every story is on record, and no other", () => {
  expect(Object.keys(recorded).sort()).toEqual(Object.keys(stories).sort());
});
