// What a runtime, or the kernel, does to a shim while it waits.
import { once } from "node:events";

import { expect, test } from "vitest";

import { encodeReply } from "../../../src/cni/protocol/frame.ts";
import { invoke, Running } from "../invoke.ts";
import { answering, ScriptedServer } from "../scripted-server.ts";
import type { Subject } from "../suite.ts";
import { saidBy } from "./said.ts";

const answer = encodeReply({ exitStatus: 0, stdout: new TextEncoder().encode("{}") });

/** Looks until it is so. The test's own timeout is the limit. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

export function signals(subject: Subject): void {
  test("stopped and continued while it waits, it still gets the answer", async () => {
    const asked = Promise.withResolvers<void>();
    const allowed = Promise.withResolvers<void>();
    await using server = await ScriptedServer.start(async (_, socket) => {
      asked.resolve();
      await allowed.promise;
      socket.end(answer);
    });
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path };
    const running = new Running(subject.path, { env, stdin: "{}" });
    await asked.promise;
    for (let times = 0; times < 5; times++) {
      // A call with a timeout that is stopped and continued ends with EINTR (signal(7)).
      running.child.kill("SIGSTOP");
      await new Promise((resolve) => setTimeout(resolve, 30));
      running.child.kill("SIGCONT");
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    allowed.resolve();
    expect(await running.ended).toMatchObject({ status: 0, stdout: Buffer.from("{}") });
  });

  test("killed while it waits, it lets go of the connection, and the daemon can tell", async () => {
    const asked = Promise.withResolvers<void>();
    await using server = await ScriptedServer.start(() => asked.resolve());
    const running = new Running(subject.path, {
      env: { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path },
      stdin: "{}",
    });
    await asked.promise;
    expect(server.abandoned).toBe(0);
    running.child.kill("SIGKILL");
    await until(() => server.abandoned === 1);
    expect((await running.ended).signal).toBe("SIGKILL");
  });

  test("stdin that comes in pieces is waited for", async () => {
    await using server = await ScriptedServer.start(answering(0, "{}"));
    const running = new Running(subject.path, { env: { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path } });
    for (const piece of ['{"na', 'me":', '"a"}']) {
      running.child.stdin?.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    running.child.stdin?.end();
    expect((await running.ended).status).toBe(0);
    expect(Buffer.from(server.requests[0]?.stdin ?? []).toString()).toBe('{"name":"a"}');
  });

  test("stdin that takes all of the wait: it asks nobody any more", async () => {
    await using server = await ScriptedServer.start(() => {});
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path, HOLDFAST_WAIT_MS: "500" };
    const running = new Running(subject.path, { env });
    running.child.stdin?.write('{"cniVersion":"1.0.0",');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    running.child.stdin?.end('"name":"a"}');
    expect(saidBy(await running.ended)).toMatchObject({ code: 11, msg: expect.stringContaining("within 500 ms") });
  });

  test("a runtime that no longer reads the answer: it ends, and does not report success", async () => {
    const gone = Promise.withResolvers<void>();
    await using server = await ScriptedServer.start(async (_, socket) => {
      await gone.promise;
      socket.end(encodeReply({ exitStatus: 0, stdout: new Uint8Array(1024 * 1024) }));
    });
    const running = new Running(subject.path, {
      env: { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path },
      stdin: "{}",
    });
    await until(() => server.requests.length === 1);
    running.child.stdout?.destroy();
    await once(running.child.stdout!, "close");
    gone.resolve();
    const [status] = (await once(running.child, "exit")) as [number | null];
    expect(status).not.toBe(0);
  });

  test("stdin that never ends does not keep it for ever", async () => {
    const running = new Running(subject.path, { env: { CNI_COMMAND: "ADD", HOLDFAST_WAIT_MS: "1" } });
    const ended = await running.ended;
    expect(ended.status).not.toBe(0);
    // It is ended from outside, or, on a busy machine, sees before it reads that the wait is over.
    const text = ended.stdout.toString();
    expect(["", 11]).toContain(text === "" ? "" : (JSON.parse(text) as { code: number }).code);
  });

  test("it leaves no process behind", async () => {
    await using server = await ScriptedServer.start(answering(0, "{}"));
    const env = { CNI_COMMAND: "ADD", HOLDFAST_SOCKET: server.path };
    const running = new Running(subject.path, { env, stdin: "{}" });
    await running.ended;
    expect(() => process.kill(running.pid, 0)).toThrow("ESRCH");
    expect((await invoke(subject.path, { env, stdin: "{}" })).status).toBe(0);
  });
}
