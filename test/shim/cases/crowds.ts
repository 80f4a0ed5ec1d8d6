// As many at once as a node that starts all its pods.
import { expect, test } from "vitest";

import { encodeReply } from "../../../src/cni/protocol/frame.ts";
import { invoke } from "../invoke.ts";
import { ScriptedServer } from "../scripted-server.ts";
import type { Subject } from "../suite.ts";

export function crowds(subject: Subject): void {
  test("each gets its own answer, though they are answered together", async () => {
    const waiting: (() => void)[] = [];
    await using server = await ScriptedServer.start(({ environment, stdin }, socket) => {
      const stdout = new TextEncoder().encode(`${environment["CNI_CONTAINERID"]} ${Buffer.from(stdin).toString()}`);
      waiting.push(() => socket.end(encodeReply({ exitStatus: 0, stdout })));
      // None is answered before all have asked: all are there at once.
      if (waiting.length === subject.crowd) for (const release of waiting) release();
    });
    const ended = await Promise.all(
      Array.from({ length: subject.crowd }, (_, index) =>
        invoke(subject.path, {
          env: { CNI_COMMAND: "ADD", CNI_CONTAINERID: `c${index}`, HOLDFAST_SOCKET: server.path },
          stdin: `{"name":"n${index}"}`,
        }),
      ),
    );
    expect(ended.map(({ stdout }) => stdout.toString())).toEqual(
      Array.from({ length: subject.crowd }, (_, index) => `c${index} {"name":"n${index}"}`),
    );
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set([0]));
  });
}
