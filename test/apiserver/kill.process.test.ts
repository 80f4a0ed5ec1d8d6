// Acknowledged writes survive kill -9: rounds of concurrent writers against a server process that is killed under them.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Agent, request } from "undici";
import { expect, test } from "vitest";

import { volume } from "../volume.ts";

const rounds = volume(12, 50);
const writers = 8;
const collection = "/api/v1/namespaces/default/configmaps";

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly agent: Agent;
}

async function start(path: string): Promise<Running> {
  const program = fileURLToPath(new URL("serve-process.ts", import.meta.url));
  const child = spawn(process.execPath, [program, path, "0", "token"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, "line")) as [string];
  const { url, certificate } = JSON.parse(line) as { url: string; certificate: string };
  return { child, url, agent: new Agent({ connect: { ca: certificate } }) };
}

async function call(server: Running, method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: object) {
  const answer = await request(server.url + path, {
    method,
    dispatcher: server.agent,
    headers: { authorization: "Bearer token", "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: (await answer.body.json()) as { metadata: { resourceVersion: string } } };
}

/** Key: name; value: what was acknowledged last, undefined for a deletion or nothing. */
type Acknowledged = Map<string, string | undefined>;
/** Key: name; value: what an unanswered request would have made of it. Both outcomes are right, and no third one. */
type Pending = Map<string, string | undefined>;

let acknowledgements = 0;

async function write(server: Running, name: string, acknowledged: Acknowledged, pending: Pending): Promise<never> {
  const path = `${collection}/${name}`;
  for (let turn = 0; ; turn++) {
    const value = turn % 7 === 6 ? undefined : String(turn);
    const body = { metadata: { name }, data: { value } };
    pending.set(name, value);
    const answer = await (value === undefined
      ? call(server, "DELETE", path)
      : turn % 7 === 0
        ? call(server, "POST", collection, body)
        : call(server, "PUT", path, body));
    if (answer.status >= 300) throw new Error(`turn ${turn} of ${name} was refused with ${answer.status}`);
    acknowledged.set(name, value);
    pending.delete(name);
    acknowledgements++;
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(1);
}

test(`${rounds} rounds of ${writers} writers and SIGKILL lose no acknowledged write`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-kill-"));
  const path = join(folder, "api.db");
  const acknowledged: Acknowledged = new Map();
  const pending: Pending = new Map();
  let revision = 0n;
  let server = await start(path);
  try {
    for (let round = 0; round < rounds; round++) {
      const current = server;
      const working = Array.from({ length: writers }, (_, writer) =>
        write(current, `r${round}-w${writer}`, acknowledged, pending).catch((error: unknown) => error),
      );
      // Writers that never got through would prove nothing.
      await until(() => acknowledgements > (round + 1) * writers);
      // Another moment in each round, so that kills fall between and inside commits.
      await sleep((round * 37) % 90);
      server.child.kill("SIGKILL");
      await once(server.child, "exit");
      const ends = await Promise.all(working);
      // A connection that broke is what a kill looks like; a refusal is a fault of the server.
      for (const end of ends) expect(String(end)).not.toContain("was refused");
      await server.agent.destroy();

      server = await start(path);
      const list = await call(server, "GET", collection);
      const items = (list.body as unknown as { items: { metadata: { name: string }; data: { value: string } }[] })
        .items;
      const found = new Map(items.map((item) => [item.metadata.name, item.data.value]));
      for (const [name, value] of acknowledged) {
        const allowed = pending.has(name) ? [value, pending.get(name)] : [value];
        expect(allowed, `${name} after round ${round}`).toContain(found.get(name));
      }
      const now = BigInt(list.body.metadata.resourceVersion);
      expect(now).toBeGreaterThanOrEqual(revision);
      revision = now;
    }
  } finally {
    server.child.kill("SIGKILL");
    await server.agent.destroy();
    rmSync(folder, { recursive: true });
  }
}, 180_000);
