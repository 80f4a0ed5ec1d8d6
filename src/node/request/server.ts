// The daemon's unix socket: one request and one reply per connection. Promised: only root and the daemon's own user are
// heard (0600, in a folder of 0700); at most `maxInWork` requests are in work, and more are told to try again; each has
// a deadline, and is called off when the runtime hangs up. A socket that another daemon answers on is left alone.
import { once } from "node:events";
import { chmod, mkdir, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";

import { errorCodes, CniError } from "../../cni/error.ts";
import { encodeReply, FrameError, type Reply, type Request, RequestReader } from "../../cni/protocol/frame.ts";
import { asError, untilAborted } from "../../kube/abort.ts";
import { deadline } from "../../kube/clock.ts";
import type { DaemonOptions } from "../context.ts";
import { errorReply } from "./failure.ts";

export interface SocketServerOptions extends Pick<DaemonOptions, "peerUid" | "ownUid" | "clock" | "log"> {
  readonly path: string;
  readonly handle: (request: Request, signal: AbortSignal) => Promise<Reply>;
}

/** A node has some hundred pods, a few interfaces each; 1,024 requests are 1 GiB at 1 MiB, 2 MiB at the usual 2 KiB. */
const maxInWork = 1024;
/** Connections that have not sent their request yet; the kernel's queue holds further ones. */
const maxConnections = 2 * maxInWork;
/** Below the shim's 110 s, so that the runtime reads our words and not the shim's. */
const requestMs = 100_000;
/** A shim sends its request in one go; a slower client is no shim. */
const readMs = 10_000;

export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #server: Server;
  readonly #stopping = new AbortController();
  readonly #inWork = new Set<Promise<void>>();
  readonly #idle = new Set<Socket>();

  constructor(options: SocketServerOptions) {
    this.#options = options;
    // Half-open: the shim keeps its side until it has the reply, so its end means that it is gone.
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    this.#server.maxConnections = maxConnections;
  }

  get inWork(): number {
    return this.#inWork.size;
  }

  async listen(): Promise<void> {
    const { path } = this.#options;
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await removeStale(path);
    // Nobody connects before the mode is set: the folder is closed to others already.
    this.#server.listen({ path, backlog: maxConnections });
    await once(this.#server, "listening");
    await chmod(path, 0o600);
  }

  /** Takes no more connections, and waits for the requests in work; an abort of the signal calls off the rest. */
  async close(signal: AbortSignal): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#idle) socket.destroy();
    const reason = new Error("the daemon is being stopped; try again in a moment.");
    void untilAborted(signal).then(() => this.#stopping.abort(reason));
    await Promise.allSettled(this.#inWork);
    await closed;
  }

  #accept(socket: Socket): void {
    const { log, peerUid, ownUid, clock } = this.#options;
    socket.on("error", (error) => log.debug("a connection broke", { error }));
    try {
      const uid = peerUid(socket);
      if (uid !== 0 && uid !== ownUid) throw new Error(`user ${uid} may not speak to the daemon`);
    } catch (error) {
      log.warn("a connection was refused", { error });
      socket.destroy();
      return;
    }
    this.#idle.add(socket);
    const cancel = clock.after(readMs, () => socket.destroy());
    const reader = new RequestReader();
    const begin = (work: () => Promise<Reply>) => {
      cancel();
      this.#idle.delete(socket);
      socket.removeAllListeners("data");
      this.#track(socket, work);
    };
    socket.on("close", () => {
      cancel();
      this.#idle.delete(socket);
    });
    socket.on("data", (chunk: Buffer) => {
      try {
        const request = reader.push(chunk);
        if (request !== undefined) begin(() => this.#serve(socket, request));
      } catch (error) {
        const code = error instanceof FrameError ? errorCodes.badEncoding : errorCodes.tryAgainLater;
        begin(async () => refusal(code, error));
      }
    });
    socket.on("end", () => {
      if (this.#idle.has(socket)) socket.destroy();
    });
  }

  #track(socket: Socket, work: () => Promise<Reply>): void {
    if (this.#inWork.size >= maxInWork) {
      reply(socket, refusal(errorCodes.tryAgainLater, `${maxInWork} requests are in work already; try again.`));
      return;
    }
    const done: Promise<void> = work()
      .then((answer) => reply(socket, answer))
      .catch((error: unknown) => {
        this.#options.log.error("a request failed without an answer", { error });
        reply(socket, refusal(errorCodes.tryAgainLater, error));
      })
      .finally(() => this.#inWork.delete(done));
    this.#inWork.add(done);
  }

  async #serve(socket: Socket, request: Request): Promise<Reply> {
    const { handle, clock } = this.#options;
    const gone = new AbortController();
    const onGone = () => gone.abort(new Error("the runtime hung up before it had the answer."));
    socket.once("end", onGone).once("close", onGone).resume();
    using limit = deadline(clock, requestMs, AbortSignal.any([gone.signal, this.#stopping.signal]));
    try {
      return await handle(request, limit.signal);
    } finally {
      socket.removeListener("end", onGone).removeListener("close", onGone);
    }
  }
}

function reply(socket: Socket, answer: Reply): void {
  if (!socket.destroyed) socket.end(encodeReply(answer), () => socket.destroySoon());
}

function refusal(code: CniError["code"], why: unknown): Reply {
  const { message } = asError(why);
  return errorReply(new CniError(code, `the daemon did not take the request: ${message}`), "1.1.0");
}

/** A socket file that nobody answers on is left from a daemon that was killed. */
async function removeStale(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<"answered" | "missing" | "silent">();
  const socket = connect(path, () => resolve("answered"));
  socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ENOENT" ? "missing" : "silent"));
  const state = await promise;
  socket.destroy();
  const taken = `another daemon answers on ${path}: stop it first, or give another --socket.`;
  if (state === "answered") throw new Error(taken);
  if (state === "silent") await unlink(path);
}
