// One connection: requests and their replies, notifications, echo both ways, and the probe of a silent peer.
//
// Promised: notifications and replies are handled in the order in which they came; every request ends, at the latest
// with the connection; a peer that is silent for two probe intervals is given up. Not promised: that a request whose
// connection ended was not carried out.
import type { Duplex } from "node:stream";

import type { Clock } from "../clock.ts";
import { asError, OvsdbError } from "../error.ts";
import { MessageReader } from "./framing.ts";
import { type Message, parseMessage, wordsOfError } from "./message.ts";

export interface ConnectionOptions {
  readonly clock: Clock;
  /** After this much silence the peer is asked whether it is there; after as much again it is given up. */
  readonly probeIntervalMs: number;
  readonly maxMessageBytes: number;
  readonly onNotification: (method: string, params: readonly unknown[]) => void;
}

/** A reply is awaited for each: far more than reconcilers have under way, and few enough to fit in memory. */
const maxPendingRequests = 1000;

interface Pending {
  readonly method: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: OvsdbError) => void;
}

export class Connection {
  readonly #stream: Duplex;
  readonly #options: ConnectionOptions;
  readonly #reader: MessageReader;
  /** Request id -> who waits. */
  readonly #pending = new Map<number, Pending>();
  readonly #ended = Promise.withResolvers<OvsdbError>();
  #lastId = 0;
  #end: OvsdbError | undefined;
  #heard = false;
  #probed = false;
  #cancelProbe: () => void = () => {};

  constructor(stream: Duplex, options: ConnectionOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#reader = new MessageReader(options.maxMessageBytes);
    stream.on("data", (chunk: Uint8Array) => this.#onData(chunk));
    stream.on("error", (error) => this.#finish(`it broke: ${error.message}`, error));
    stream.on("close", () => this.#finish("the server closed it"));
    stream.on("end", () => this.#finish("the server closed it"));
    this.#armProbe();
  }

  /** Why it ended, once it has. */
  get ended(): Promise<OvsdbError> {
    return this.#ended.promise;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  /** Throws where nothing was sent (`busy`, `too-large`, `disconnected`); `reply` fails with what came after that. */
  request(method: string, params: readonly unknown[]): Sent {
    if (this.#end !== undefined) throw this.#end;
    const { writableLength } = this.#stream;
    if (this.#pending.size >= maxPendingRequests || writableLength > this.#options.maxMessageBytes) {
      const waiting = `${this.#pending.size} requests wait for their replies and ${writableLength} bytes to be sent`;
      throw new OvsdbError("busy", `${waiting}: send fewer at once.`);
    }
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const text = this.#print({ method, params, id });
    this.#pending.set(id, { method, resolve, reject }); // a stream within the process may answer at once
    this.#stream.write(text);
    return { id, reply: promise };
  }

  notify(method: string, params: readonly unknown[]): void {
    if (this.#end === undefined) this.#send({ method, params, id: null });
  }

  close(why: string): void {
    this.#finish(why);
  }

  #send(message: object): void {
    this.#stream.write(this.#print(message));
  }

  #print(message: object): string {
    const text = JSON.stringify(message);
    // The server counts bytes; a character has at most three for each unit of a string.
    if (text.length > this.#options.maxMessageBytes / 3) {
      throw new OvsdbError("too-large", `A message of ${text.length} characters is too large: split the transaction.`);
    }
    return text;
  }

  #onData(chunk: Uint8Array): void {
    this.#heard = true;
    try {
      for (const json of this.#reader.push(chunk)) {
        if (this.#end !== undefined) return;
        this.#handle(parseMessage(json));
      }
    } catch (error) {
      this.#finish(asError(error).message, error);
    }
  }

  #handle(message: Message): void {
    if (message.kind === "notification") this.#options.onNotification(message.method, message.params);
    else if (message.kind === "reply") this.#settle(message.id, message.result, message.error);
    else if (message.method === "echo") this.#send({ id: message.id, result: message.params, error: null });
    else this.#send({ id: message.id, result: null, error: "unknown method" });
  }

  #settle(id: unknown, result: unknown, error: unknown): void {
    const pending = this.#pending.get(id as number);
    if (pending === undefined) return; // the reply to a probe, or to what was given up
    this.#pending.delete(id as number);
    if (error === null) pending.resolve(result);
    else {
      const { tag, words } = wordsOfError(error);
      pending.reject(new OvsdbError("refused", `The server refused ${pending.method}: ${words}.`, { tag }));
    }
  }

  #armProbe(): void {
    this.#heard = false;
    this.#cancelProbe = this.#options.clock.after(this.#options.probeIntervalMs, () => {
      if (this.#heard) this.#probed = false;
      else if (this.#probed) {
        this.#finish(`the server was silent for ${2 * this.#options.probeIntervalMs} ms`);
        return;
      } else {
        this.#probed = true;
        this.#send({ method: "echo", params: [], id: "probe" });
      }
      this.#armProbe();
    });
  }

  #finish(why: string, cause?: unknown): void {
    if (this.#end !== undefined) return;
    this.#end = new OvsdbError("disconnected", `The connection has ended: ${why.replace(/\.$/, "")}.`, { cause });
    this.#cancelProbe();
    this.#stream.destroy();
    for (const { reject } of this.#pending.values()) reject(this.#end);
    this.#pending.clear();
    this.#ended.resolve(this.#end);
  }
}

export interface Sent {
  readonly id: number;
  readonly reply: Promise<unknown>;
}
