// Whatever it is called and wherever it lies; and how it learns where the daemon listens.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { invoke } from "../invoke.ts";
import { answering, ScriptedServer } from "../scripted-server.ts";
import type { Subject } from "../suite.ts";
import { saidBy } from "./said.ts";

export function places(subject: Subject): void {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-place-"));
    copyFileSync(subject.path, join(folder, "whereabouts"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("called whereabouts, with the socket in the file beside it", async () => {
    await using server = await ScriptedServer.start(answering(0, "{}"));
    writeFileSync(join(folder, "holdfast.socket"), `${server.path}\n`);
    const ended = await invoke(join(folder, "whereabouts"), { env: { CNI_COMMAND: "ADD" }, stdin: "{}" });
    expect(ended).toMatchObject({ status: 0, stdout: Buffer.from("{}") });
  });

  test("through a link, the file beside the executable itself counts", async () => {
    await using server = await ScriptedServer.start(answering(0, "{}"));
    writeFileSync(join(folder, "holdfast.socket"), server.path);
    mkdirSync(join(folder, "links"));
    symlinkSync("../whereabouts", join(folder, "links", "holdfast"));
    const ended = await invoke(join(folder, "links", "holdfast"), { env: { CNI_COMMAND: "ADD" }, stdin: "{}" });
    expect(ended.status).toBe(0);
  });

  test("HOLDFAST_SOCKET comes before the file", async () => {
    await using server = await ScriptedServer.start(answering(0, "{}"));
    writeFileSync(join(folder, "holdfast.socket"), join(folder, "nobody"));
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path };
    expect((await invoke(join(folder, "whereabouts"), { env, stdin: "{}" })).status).toBe(0);
    const said = saidBy(await invoke(join(folder, "whereabouts"), { env: { CNI_COMMAND: "ADD" }, stdin: "{}" }));
    expect(said.msg).toContain(join(folder, "nobody"));
  });
}
