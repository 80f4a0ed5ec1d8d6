// The two servers under measurement, each in its own processes, with fsync on, reached over TLS with a token.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { Agent } from "undici";

import { cluster } from "../../test/lab/start.ts";

export interface Server {
  readonly url: string;
  readonly agent: Agent;
  readonly token: string;
  stop(): Promise<void>;
}

/** Enough for 16 writers and a watch, each on a connection of its own. */
const connections = 20;

const newFolder = () => mkdtempSync(join(tmpdir(), "holdfast-bench-"));
const newToken = () => randomBytes(16).toString("hex");
const newAgent = (ca: string) => new Agent({ connect: { ca }, connections, bodyTimeout: 0, headersTimeout: 0 });

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

export async function startEmbedded(): Promise<Server> {
  const folder = newFolder();
  const token = newToken();
  const program = fileURLToPath(new URL("serve.ts", import.meta.url));
  const child = spawn(process.execPath, [program, join(folder, "api.db"), token], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { url, certificate } = JSON.parse(line) as { url: string; certificate: string };
  const agent = newAgent(certificate);
  const stop = async () => {
    await agent.destroy();
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, agent, token, stop };
}

/** The lab's control plane with fsync on; the reason in words when it cannot be started. */
export async function startReal(): Promise<Server | string> {
  try {
    const lab = await cluster({ fsync: true, log: (line) => console.error(`apiserver: ${line}`) });
    const { url, token, ca } = lab.access;
    const agent = newAgent(ca);
    const stop = async () => {
      await agent.destroy();
      await lab.stop();
    };
    return { url, agent, token, stop };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
