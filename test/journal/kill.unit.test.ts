// A real process, killed with -9 under load again and again on one folder: the next has all that was answered.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

import { expect, it } from "vitest";

import { held, newFolder, open } from "./fixtures.ts";

const script = fileURLToPath(new URL("./churn-process.ts", import.meta.url));

/** What the process said until it had answered so many times and was killed. */
async function runAndKill(folder: string, answers: number): Promise<string[]> {
  const child = spawn(process.execPath, [script, folder], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  let isKilled = false;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (isKilled || text.split("\nis ").length <= answers) return;
    isKilled = true;
    child.kill("SIGKILL");
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  child.on("close", () => resolve());
  await promise;
  expect(isKilled).toBe(true);
  // The last line may be cut by the kill.
  return text.slice(0, text.lastIndexOf("\n")).split("\n");
}

it("loses nothing that was answered, and gives nothing back that was released", async () => {
  const folder = newFolder();
  /** address -> who may have it: the last answer, and what was asked for since; "-" for nobody */
  const may = new Map<string, Set<string>>();
  for (const answers of [1, 40, 400, 1500, 3000, 700]) {
    const [first, ...lines] = await runAndKill(folder, answers);
    expect(first).toBe("damaged 0");
    for (const line of lines) {
      const [verb, address = "", who = ""] = line.split(" ");
      if (verb === "is") may.set(address, new Set([who]));
      else may.set(address, (may.get(address) ?? new Set(["-"])).add(who));
    }
    const journal = await open(folder);
    expect(journal).toMatchObject({ damaged: 0, suspect: "" });
    const found = held(journal);
    for (const [address, names] of may) {
      expect([...names]).toContain(found[address] ?? "-");
      may.set(address, new Set([found[address] ?? "-"]));
    }
    expect(Object.keys(found).every((address) => may.has(address))).toBe(true);
    await journal.close();
  }
}, 120_000);
