// Calls over HTTP/2: many streams on few connections, by Node (docs/decisions/0015-http2-on-nodes-own-client.md).
//
// A stream that is given up is always closed with CANCEL. Closed without a code while its body is on the way out, and
// then destroyed, it is never reset: either Node sends empty frames for it for ever, and the process grows until it is
// killed; or its answer comes and becomes a stream of its own.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Socket } from "node:net";

import { asError, orAborted } from "../abort.ts";
import type { Clock } from "../clock.ts";
import type { Dial } from "./dial.ts";
import { type ApiRequest, type ApiResponse, flatHeaders, notSent, NotSentError } from "./transport.ts";

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const headersFrame = 1;
/** The API server allows as many by default; a server that allows fewer says so. */
const mostStreams = 100;
/** From the connection to the server's settings, which it sends without being asked. */
const handshakeMs = 10_000;
/** How much Node holds for a session before it refuses streams (ENHANCE_YOUR_CALM); its 10 MB are below our window. */
const sessionMegabytes = 256;

export interface Http2Settings {
  /** Connections at once; more calls than fit on them wait. */
  readonly connections: number;
  /** How much of an answer, and of all answers of a connection, may be under way before we have read it. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
  /** How long a connection waits for its next call. */
  readonly idleMs: number;
  /** A connection that was silent for so long is asked for a sign of life, and has so long to give it. */
  readonly silenceMs: number;
  readonly signMs: number;
}

/** All connections to one server for one kind of call. */
export class Http2Line {
  readonly #origin: string;
  readonly #dial: Dial;
  readonly #clock: Clock;
  readonly #settings: Http2Settings;
  readonly #connections = new Set<Http2Connection>();
  readonly #ending = new AbortController();
  #dialling: Promise<void> | undefined;
  /** Resolves when a call that found no room may look again. */
  #change = Promise.withResolvers<void>();
  #isHttp1 = false;
  #closing = false;

  constructor(origin: string, dial: Dial, clock: Clock, settings: Http2Settings) {
    this.#origin = origin;
    this.#dial = dial;
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Undefined, with nothing sent, if the server does not speak HTTP/2. */
  async send(request: ApiRequest): Promise<ApiResponse | undefined> {
    // A stream may be refused by a connection that its server is just closing; that call goes to another one, once.
    for (let refused = false; ; refused = true) {
      const connection = await this.#room(request.signal);
      if (connection === undefined) return undefined;
      try {
        return await connection.send(request);
      } catch (error) {
        if (refused || !(error instanceof NotSentError) || this.#closing) throw error;
      }
    }
  }

  /** Takes no more, and resolves when what is under way has ended. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const each of this.#connections) each.retire();
    this.#wake();
    await this.#dialling?.catch(() => {});
    await Promise.all(Array.from(this.#connections, (each) => each.closed));
  }

  async destroy(): Promise<void> {
    this.#closing = true;
    this.#ending.abort(new Error("the connection was closed"));
    for (const each of this.#connections) each.destroy();
    await this.close();
  }

  /** A connection with room for one more, to be used at once: nothing may come between. */
  async #room(signal: AbortSignal | undefined): Promise<Http2Connection | undefined> {
    for (;;) {
      if (this.#closing) throw new NotSentError("The connection was closed.");
      if (this.#isHttp1) return undefined;
      for (const each of this.#connections) if (each.hasRoom()) return each.reserve();
      const more = this.#more();
      await (signal === undefined ? more : orAborted(more, signal));
    }
  }

  #more(): Promise<void> {
    if (this.#dialling === undefined && this.#inUse() >= this.#settings.connections) return this.#change.promise;
    this.#dialling ??= this.#open().finally(() => (this.#dialling = undefined));
    return this.#dialling;
  }

  /** Without those that only wait for the end of their calls: a silent server must not use up all there may be. */
  #inUse(): number {
    return [...this.#connections].filter((each) => !each.isRetired).length;
  }

  async #open(): Promise<void> {
    const { socket, protocol } = await this.#dial(["h2", "http/1.1"], this.#ending.signal);
    if (protocol !== "h2") {
      this.#isHttp1 = true;
      socket.destroy();
      return;
    }
    const connection = new Http2Connection(this.#origin, socket, this.#clock, this.#settings, () => this.#wake());
    void this.#keep(connection);
    if (this.#ending.signal.aborted) connection.destroy();
    else if (this.#closing) connection.retire();
    else await connection.ready;
  }

  async #keep(connection: Http2Connection): Promise<void> {
    this.#connections.add(connection);
    await connection.closed;
    this.#connections.delete(connection);
    this.#wake();
  }

  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }
}

class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #settings: Http2Settings;
  readonly #onRoom: () => void;
  /** Can take calls. Rejects with NotSentError if it never could. */
  readonly ready: Promise<void>;
  readonly closed: Promise<void>;
  #stopIdling = () => {};
  #stopWatching = () => {};
  #open = 0;
  #isRetired = false;
  /** When it last answered a call. */
  #heardMs = -Infinity;
  #seenBytes = 0;

  constructor(origin: string, socket: Socket, clock: Clock, settings: Http2Settings, onRoom: () => void) {
    this.#socket = socket;
    this.#clock = clock;
    this.#settings = settings;
    this.#onRoom = onRoom;
    const session = connect(origin, {
      createConnection: () => socket,
      maxSessionMemory: sessionMegabytes,
      settings: { enablePush: false, initialWindowSize: settings.streamWindow },
    });
    this.#session = session;
    // Its streams fail with it, each to its own caller; here only so that it is heard.
    session.on("error", () => {});
    session.on("goaway", () => this.retire());
    // An answer that crossed the reset of its call: Node makes a new stream of it, which nobody waits for.
    session.on("stream", (stray: ClientHttp2Stream) => {
      stray.on("error", () => {});
      giveUp(stray);
    });
    this.closed = new Promise((resolve) => session.once("close", () => resolve()));
    session.once("connect", () => session.setLocalWindowSize(settings.connectionWindow));
    this.ready = new Promise((resolve, reject) => {
      const cancel = clock.after(handshakeMs, () => this.destroy());
      // Only then does it say how many streams it allows; those above it would be refused.
      session.once("remoteSettings", () => {
        cancel();
        if (this.#open === 0) this.#rest();
        resolve();
      });
      session.once("close", () => {
        cancel();
        reject(new NotSentError("The connection was closed before it was ready."));
      });
    });
    this.ready.catch(() => {});
    this.#watch();
    session.once("close", () => {
      this.#isRetired = true;
      this.#stopWatching();
      this.#stopIdling();
    });
  }

  get isRetired(): boolean {
    return this.#isRetired;
  }

  hasRoom(): boolean {
    const { closed, destroyed, connecting } = this.#session;
    if (this.#isRetired || closed || destroyed || connecting) return false;
    const allowed = this.#session.remoteSettings?.maxConcurrentStreams ?? mostStreams;
    return this.#open < Math.max(1, Math.min(allowed, mostStreams));
  }

  /** Counts a call that is sent next. */
  reserve(): this {
    if (this.#open++ === 0) this.#session.ref();
    this.#stopIdling();
    return this;
  }

  /** For whoever reserved. */
  send({ method, path, headers, body, signal }: ApiRequest): Promise<ApiResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
    const sentMs = this.#clock.monotonicMs();
    let stream: ClientHttp2Stream;
    try {
      signal?.throwIfAborted();
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const head = { ...headers, ":method": method, ":path": path, ...length };
      stream = this.#session.request(head, { endStream: body === undefined });
    } catch (error) {
      this.#release();
      reject(signal?.aborted === true ? asError(signal.reason) : notSent(asError(error)));
      return promise;
    }
    const onAbort = () => {
      if (this.#heardMs < sentMs) this.retire(); // as far as we know nobody is there
      reject(asError(signal?.reason));
      giveUp(stream);
    };
    let isUnsent = false;
    const fail = (error: Error) => {
      reject(isUnsent || stream.rstCode === NGHTTP2_REFUSED_STREAM ? notSent(error) : error);
    };
    // For good: a stream may fail again when its session does.
    stream.on("error", fail);
    stream.once("frameError", (type: number) => (isUnsent = type === headersFrame));
    stream.once("response", (answer) => {
      this.#heardMs = this.#clock.monotonicMs();
      resolve({ status: Number(answer[":status"]), headers: flatHeaders(answer), body: new Body(stream) });
    });
    stream.once("close", () => {
      signal?.removeEventListener("abort", onAbort);
      this.#release();
      fail(new Error("the connection was closed before the answer"));
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    if (body !== undefined) stream.end(body);
    return promise;
  }

  /** Takes no more; closes when the last call has ended. */
  retire(): void {
    this.#isRetired = true;
    if (this.#open === 0) this.destroy();
  }

  destroy(why = "the connection was closed"): void {
    this.#isRetired = true;
    if (this.#session.destroyed) return;
    this.#session.destroy(new Error(why), NGHTTP2_NO_ERROR);
    this.#socket.destroy();
  }

  #release(): void {
    this.#open--;
    if (this.#open === 0) {
      if (this.#isRetired) this.destroy();
      else this.#rest();
    }
    this.#onRoom();
  }

  /** Without a call it keeps no process alive, and is not kept for ever. */
  #rest(): void {
    this.#session.unref();
    this.#stopIdling();
    this.#stopIdling = this.#clock.after(this.#settings.idleMs, () => this.retire());
  }

  #watch(): void {
    this.#stopWatching = this.#clock.after(this.#settings.silenceMs, () => {
      this.#watch();
      this.#askForSign();
    });
  }

  /** A peer that vanished says nothing, and TCP takes minutes to notice; an answer to a ping says that it is there. */
  #askForSign(): void {
    const { bytesRead } = this.#socket;
    const wasSilent = bytesRead === this.#seenBytes;
    this.#seenBytes = bytesRead;
    if (!wasSilent || this.#open === 0 || this.#session.destroyed) return;
    const cancel = this.#clock.after(this.#settings.signMs, () => this.destroy("the server gave no sign of life"));
    try {
      this.#session.ping(cancel);
    } catch {
      cancel(); // it is closing by itself
    }
  }
}

function giveUp(stream: ClientHttp2Stream): void {
  stream.close(NGHTTP2_CANCEL);
  stream.destroy();
}

/**
 * The body. Not the stream's own iterator: that takes an answer that is complete, but not yet read, for one that broke
 * off. And not its end alone: a stream that was cut ends like one that is complete, except for its code.
 */
class Body {
  readonly #stream: ClientHttp2Stream;
  #isEnded = false;
  #isClosed = false;
  #error: Error | undefined;
  #wake = () => {};

  /** To be made as soon as there is an answer, before anything of it can be missed. */
  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    stream.on("readable", () => this.#wake());
    stream.once("end", () => {
      this.#isEnded = true;
      this.#wake();
    });
    stream.once("error", (error) => (this.#error = error));
    stream.once("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const stream = this.#stream;
    try {
      while (!this.#isEnded) {
        const chunk = stream.read() as Uint8Array | null;
        if (chunk !== null) yield chunk;
        else if (this.#isClosed) throw this.#error ?? cut();
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      if (stream.rstCode !== NGHTTP2_NO_ERROR) throw cut();
    } finally {
      if (!this.#isEnded) giveUp(stream);
    }
  }
}

function cut(): Error {
  return new Error("the connection was closed in the middle of the answer");
}
