// One process that behaves like a runtime: node caller.ts SOCKET NAME ROUNDS FOLDER. Prints a line of JSON at its end.
//
// While it has an address, a file of that name stands in FOLDER, made so that a second one cannot be: two that have the
// same address at once are found out, whichever processes they are.
import { closeSync, openSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { ask, podArgs, type Told } from "./shim.ts";

const [socket, name, rounds, folder] = process.argv.slice(2) as [string, string, string, string];
const config = {
  cniVersion: "1.0.0",
  name: "chaos",
  type: "bridge",
  ipam: { type: "holdfast", range: "10.30.0.0/24", network_name: "chaos" },
};
const failures: string[] = [];
const duplicates: string[] = [];
/** Ten minutes of trying: the test's own limit comes first. */
const triesMax = 6000;

async function surely(asked: { command: string; container: string; args: string }): Promise<Told | undefined> {
  try {
    return await ask(socket, { ...asked, config });
  } catch {
    return undefined; // killed under it, or not up again yet
  }
}

async function untilDone(asked: { command: string; container: string; args: string }): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const told = await surely(asked);
    if (told?.status === 0) return;
    await pause(50);
  }
  throw new Error(`${asked.command} of ${asked.container} never succeeded`);
}

for (let round = 0; round < Number(rounds); round++) {
  const args = podArgs("default", `${name}-${round}`, `uid-${name}-${round}`);
  let address: string | undefined;
  let container = "";
  for (let sandbox = 0; address === undefined && sandbox < triesMax; sandbox++) {
    container = `${name}-${round}-${sandbox}`;
    const told = await surely({ command: "ADD", container, args });
    if (told?.status === 0) address = told.json.ips[0].address.split("/")[0] as string;
    else {
      failures.push(told === undefined ? "cut" : String(told.json.code));
      await untilDone({ command: "DEL", container, args });
      await pause(20);
    }
  }
  const mark = join(folder, address!);
  try {
    closeSync(openSync(mark, "wx"));
  } catch {
    duplicates.push(address!);
  }
  await pause(Math.random() * 30);
  unlinkSync(mark);
  await untilDone({ command: "DEL", container, args });
}
process.stdout.write(`${JSON.stringify({ name, duplicates, failures: failures.length })}\n`);
