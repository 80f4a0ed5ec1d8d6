// A daemon that does what a test says: answers, stays silent, answers wrongly, dies.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { encodeReply, type Request, RequestReader } from "../../src/cni/protocol/frame.ts";

export type Behaviour = (request: Request, socket: Socket) => void | Promise<void>;

export class ScriptedServer implements AsyncDisposable {
  readonly path: string;
  /** Every whole request, in the order of their arrival. */
  readonly requests: Request[] = [];
  /** What to do with a connection before its request is read; returns whether to read it. */
  onConnection: (socket: Socket) => boolean = () => true;
  /** How often the other side was gone before an answer was written. */
  abandoned = 0;
  readonly #folder: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #behaviour: Behaviour;

  private constructor(behaviour: Behaviour) {
    this.#folder = mkdtempSync(join(tmpdir(), "holdfast-server-"));
    this.path = join(this.#folder, "cni.sock");
    this.#behaviour = behaviour;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(behaviour: Behaviour): Promise<ScriptedServer> {
    const server = new ScriptedServer(behaviour);
    server.#server.listen({ path: server.path, backlog: 511 });
    await once(server.#server, "listening");
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}); // what a shim that was killed leaves behind
    socket.on("close", () => this.#sockets.delete(socket));
    if (!this.onConnection(socket)) return;
    const reader = new RequestReader();
    socket.on("data", (chunk) => {
      const request = reader.push(chunk);
      if (request === undefined) return;
      this.requests.push(request);
      socket.once("end", () => {
        if (socket.bytesWritten === 0) this.abandoned += 1;
      });
      void this.#behaviour(request, socket);
    });
  }
}

/** Answers every request with the same. */
export function answering(exitStatus: number, stdout: string | Uint8Array): Behaviour {
  const bytes = typeof stdout === "string" ? new TextEncoder().encode(stdout) : stdout;
  return (_, socket) => void socket.end(encodeReply({ exitStatus, stdout: bytes }));
}
