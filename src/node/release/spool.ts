// DELs that the plugin kept while no daemon answered (src/cni/shim/spool.ts): taken over before anything is handed out.
// Promised: an ADD begins only after every DEL that was kept before it is an intent on record; a DEL that could not be
// taken over keeps an ADD of its sandbox back. A release goes by the sandbox (release.ts): an old file frees nothing of
// a later one. A file that is no DEL is removed, with a line in the log; the leader's collection frees its addresses.
import { readdirSync } from "node:fs";
import { chmod, constants, mkdir, open, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

import type { Attachment } from "../../cni/attachments.ts";
import { CniError } from "../../cni/error.ts";
import { type AttachmentInvocation, parseInvocation } from "../../cni/invocation.ts";
import { FrameError, RequestReader } from "../../cni/protocol/frame.ts";
import { spooledLimitBytes, spoolLimitFiles } from "../../cni/protocol/limits.ts";
import { orAborted } from "../../kube/abort.ts";
import { sleep } from "../../kube/clock.ts";
import { orNone } from "../../net/or-none.ts";
import type { DaemonOptions } from "../context.ts";
import { type AttachmentKey, attachmentKey } from "../request/attachment.ts";
import { later } from "../request/failure.ts";

/** Files of root and of `ownUid` are believed, as on the socket. */
export interface SpoolOptions extends Pick<DaemonOptions, "ownUid" | "clock" | "log"> {
  readonly folder: string;
  /** On record when it resolves. */
  readonly release: (invocation: AttachmentInvocation, config: Uint8Array) => Promise<void>;
  readonly onTaken: (outcome: "done" | "discarded") => void;
}

/** A plugin may keep one while the daemon is alive but slow. */
const lookEveryMs = 2000;
/** At once, so that they share an fsync; each is 64 KiB at most. */
const batch = 64;
/** Of a plugin that was killed: none lives longer than two minutes. */
const abandonedMs = 600_000;

/** Sandboxes whose DEL could not be taken over. */
type Left = ReadonlySet<AttachmentKey>;

/** No DEL of the plugin, whoever put it there. */
class Foreign extends Error {}

export class Spool {
  readonly #options: SpoolOptions;
  /** Names that were complained of and could not be removed. */
  readonly #told = new Set<string>();
  #running: Promise<unknown> = Promise.resolve();
  /** Begins after the running one, which may have looked too early. */
  #next: Promise<Left> | undefined;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    await chmod(this.#options.folder, 0o700);
    await this.#sweep();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#names().length > 0) await this.#sweep();
      await sleep(this.#options.clock, lookEveryMs, signal);
    }
  }

  /** Every DEL that was kept before now is on record. Its file goes then: an empty folder says so, in microseconds. */
  async settled(attachment: Attachment, signal: AbortSignal): Promise<void> {
    if (!this.#names().some((name) => name.endsWith(".del"))) return;
    const left = await orAborted(this.#sweep(), signal);
    const what = `a DEL of the same sandbox waits in ${this.#options.folder} and cannot be done`;
    if (left.has(attachmentKey(attachment))) throw later(`${what}: look at the daemon's log, and at the disk.`);
  }

  #names(): string[] {
    // Removed by hand, or a disk that fails: there is nothing that could be done.
    const names = orNone(() => readdirSync(this.#options.folder)) ?? [];
    return names.filter((name) => /\.(del|new)$/.test(name));
  }

  #sweep(): Promise<Left> {
    return (this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const pass = this.#pass();
      this.#running = pass;
      return pass;
    }));
  }

  async #pass(): Promise<Left> {
    const { log, folder } = this.#options;
    const names = this.#names().sort();
    const full = "the spool was full: further DELs were answered and not kept; the leader collects what they were for";
    if (names.length >= spoolLimitFiles) log.error(full, { folder });
    const left = new Set<AttachmentKey>();
    for (let at = 0; at < names.length; at += batch)
      await Promise.all(names.slice(at, at + batch).map((name) => this.#one(name, left)));
    return left;
  }

  /** Never rejects. */
  async #one(name: string, left: Set<AttachmentKey>): Promise<void> {
    const { clock, folder, log, release, onTaken } = this.#options;
    const path = join(folder, name);
    let attachment: Attachment | undefined;
    try {
      if (name.endsWith(".new")) {
        const { mtimeMs } = await stat(path);
        if (clock.wallMs() - mtimeMs > abandonedMs) await unlink(path);
        return;
      }
      const { invocation, config } = await this.#read(path);
      attachment = invocation;
      await release(invocation, config);
      await unlink(path);
      onTaken("done");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return; // gone meanwhile
      if (attachment !== undefined) left.add(attachmentKey(attachment));
      const isForeign = [Foreign, FrameError, CniError].some((kind) => error instanceof kind);
      if (attachment === undefined && isForeign && (await isRemoved(path))) onTaken("discarded");
      else if (this.#told.has(name)) return;
      else this.#told.add(name);
      log.warn(isForeign ? "a file in the spool is no DEL" : "a DEL in the spool has to wait", { path, error });
    }
  }

  async #read(path: string): Promise<{ readonly invocation: AttachmentInvocation; readonly config: Uint8Array }> {
    // Not through a link, and not waiting for whoever holds the other end.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ELOOP" ? new Foreign("it is a link") : error;
    });
    try {
      const about = await file.stat();
      const { uid, size } = about;
      if (!about.isFile()) throw new Foreign("it is no file");
      if (uid !== 0 && uid !== this.#options.ownUid) throw new Foreign(`it is of user ${uid}`);
      if (size > spooledLimitBytes) throw new Foreign(`it has ${size} bytes; at most ${spooledLimitBytes} are kept`);
      const bytes = Buffer.alloc(spooledLimitBytes + 1);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
      const reader = new RequestReader();
      const request = reader.push(bytes.subarray(0, bytesRead));
      reader.end();
      const invocation = parseInvocation(request!.environment);
      if (invocation.command !== "DEL") throw new Foreign(`it is a request of ${invocation.command}`);
      if (invocation.containerId === "" || invocation.interfaceName === "") throw new Foreign("it names no sandbox");
      return { invocation, config: request!.stdin };
    } finally {
      await file.close();
    }
  }
}

const isRemoved = (path: string) =>
  unlink(path)
    .then(() => true)
    .catch(() => false);
