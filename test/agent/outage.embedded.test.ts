// Agents without the API server: what they served last is on the disk, and is served; a damaged file is not.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { decodeState } from "../../src/agent/state/state-text.ts";
import { parseMac } from "../../src/net/mac.ts";
import { until } from "../lab/wait.ts";
import { AgentFixture, network, type PlayedAgent, pool } from "./fixture.ts";

const one = parseMac("02:00:00:00:00:01");
const two = parseMac("02:00:00:00:00:02");

let fixture: AgentFixture;
let state: string;
beforeEach(async () => {
  fixture = await AgentFixture.open();
  state = await fixture.folder();
  await fixture.makePool();
  await fixture.bind("192.168.48.81", one);
});
afterEach(() => fixture.close());

const path = () => join(state, "dhcp-agent.state");

async function seen(agent: PlayedAgent, wanted: string, mac = one): Promise<void> {
  const answers = async () => agent.wire.story(network, { mac, options: { 53: "01" } }).includes(wanted);
  await until(answers, { what: `${wanted} for ${mac}` });
}

async function saved(holds: number): Promise<void> {
  const isSaved = async () => decodeState(await readFile(path())).networks[0]?.holds.length === holds;
  await until(isSaved, { what: `a file with ${holds} Holds` });
}

test("an agent that starts while the API server is away serves what it served last, and the rest when it is back", async () => {
  const first = fixture.start("a", { state });
  await seen(first, "OFFER 192.168.48.81");
  await saved(1);
  first.kill();
  await fixture.bind("192.168.48.82", two, "vm-2");
  await fixture.release("192.168.48.81", one);
  const second = fixture.start("a", { state, isAway: true });
  await seen(second, "OFFER 192.168.48.81");
  expect(second.wire.story(network, { mac: two, options: { 53: "01" } })).toBe("silence: unknown-client");
  // Back: what the file had and the server has not is gone.
  second.isAway = false;
  await seen(second, "OFFER 192.168.48.82", two);
  await seen(second, "unknown-client");
  await until(async () => decodeState(await readFile(path())).networks[0]?.holds[0]?.spec.address === "192.168.48.82", {
    what: "the new file",
  });
  expect(await readdir(state)).toEqual(["dhcp-agent.state"]);
});

test("an agent of one pool finds its network in the file", async () => {
  const targets = [{ kind: "pool", key: pool, interface: "eth1" }] as const;
  const first = fixture.start("a", { state, targets });
  await seen(first, "OFFER 192.168.48.81");
  await saved(1);
  first.kill();
  const second = fixture.start("a", { state, targets, isAway: true });
  await seen(second, "OFFER 192.168.48.81");
});

test("a running agent goes on while the API server is away, and catches up", async () => {
  const agent = fixture.start("a", { state });
  await seen(agent, "OFFER 192.168.48.81");
  agent.isAway = true;
  await fixture.bind("192.168.48.82", two, "vm-2");
  await seen(agent, "OFFER 192.168.48.81");
  agent.isAway = false;
  await seen(agent, "OFFER 192.168.48.82", two);
});

test.each([
  ["cut off", (file: Buffer) => file.subarray(0, file.length - 7), "a part of it is missing"],
  ["changed in one bit", (file: Buffer) => flipped(file, file.length - 20), "its checksum is wrong"],
  [
    "of another version",
    (file: Buffer) => Buffer.from(file.toString().replace('"version":1', '"version":9')),
    "version 9",
  ],
  ["empty", () => Buffer.alloc(0), "no state of an agent"],
])("a file that is %s is left aside with a warning, and written anew", async (_, spoil, why) => {
  const first = fixture.start("a", { state });
  await seen(first, "OFFER 192.168.48.81");
  await saved(1);
  first.kill();
  await first.end();
  await writeFile(path(), spoil(await readFile(path())));
  const second = fixture.start("a", { state, isAway: true });
  await until(async () => second.log.some((line) => line.includes(why)), { what: `a warning: ${why}` });
  await until(async () => (await second.page("/readyz")).status === 200, { what: "the end of its patience" });
  expect(second.wire.story(network, { mac: one, options: { 53: "01" } })).toBe("silence: unknown-client");
  second.isAway = false;
  await seen(second, "OFFER 192.168.48.81");
  await saved(1);
});

function flipped(file: Buffer, at: number): Buffer {
  const copy = Buffer.from(file);
  copy[at]! ^= 1;
  return copy;
}
