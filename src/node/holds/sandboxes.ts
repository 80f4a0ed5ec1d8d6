// The sandboxes of this node that were given addresses of the API's ledger, with their holds: known before the runtime
// has its answer, until their DEL. By them a lost hold is made again (reassert.ts) and an old guest is fenced
// (claims/fence/fence.ts). The journal has the holds of slices. Promised: a sandbox that `remember` has answered for
// survives every end of the daemon. Not flushed: a power cut takes the sandboxes away with the lines, and an ADD does
// not wait for a disk. Lines of another boot are over, but for the API server's highest versions (server-history.ts). A
// failed write is logged and fails nobody: the address is right all the same.
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { Attachment } from "../../cni/attachments.ts";
import type { Hold, HoldNote, HoldUser } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import type { Log } from "../../log/log.ts";
import { type AttachmentKey, attachmentKey, type Attachments } from "../request/attachment.ts";
import { type AddressPlace, attachmentOf, type HoldIndex, placeOf } from "./hold-index.ts";
import { LineFile } from "./line-file.ts";
import type { SeenVersions } from "./server-history.ts";

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface HoldPlace extends AddressPlace {
  readonly address: string;
}

/** A hold as it was written, but for its version. */
export interface SandboxHold extends HoldPlace {
  readonly owner: Owner;
  readonly note?: HoldNote;
  readonly users?: readonly HoldUser[];
}

export interface Sandbox extends Attachment {
  readonly netns: string;
  readonly pod: ObjectName;
  /** The claim that has the addresses in place of the pod. */
  readonly claim?: ObjectName;
  readonly holds: readonly SandboxHold[];
}

export interface KnownSandbox extends Sandbox {
  /** Tells its namespace from a later one at the same path, as of the ADD. Empty: it could not be seen. */
  readonly netnsId: string;
}

export function sandboxHold(namespace: string, { domain, address, owner, note, users }: Hold): SandboxHold {
  return { namespace, domain, address: String(address), owner, ...(note && { note }), ...(users && { users }) };
}

type SandboxRecord =
  /** Lines before it are of another boot. */
  | { readonly op: "boot"; readonly id: string }
  | { readonly op: "add"; readonly sandbox: KnownSandbox }
  | { readonly op: "gone"; readonly key: string }
  | { readonly op: "seen"; readonly seen: SeenVersions };

export interface SandboxesOptions {
  readonly folder: string;
  /** Of the kernel: another one is another boot. */
  readonly bootId: string;
  /** Tells a network namespace from a later one at the same path; undefined: there is none. */
  readonly identify: (netns: string) => Promise<string | undefined>;
  readonly log: Log;
}

/** A node of 1,000 pods with 8 networks each; more are leftovers. At 1 KB each: 8 MB. */
const maxSandboxes = 8192;

export class Sandboxes {
  readonly #options: SandboxesOptions;
  #file!: LineFile<SandboxRecord>;
  /** In the order in which they came. */
  readonly #known = new Map<AttachmentKey, KnownSandbox>();
  /** pod, interface -> its latest sandbox: a pod has one at a time, and the next one's ADD ends the one before. */
  readonly #latest = new Map<string, AttachmentKey>();
  #seen: SeenVersions = {};

  private constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  static async open(options: SandboxesOptions): Promise<Sandboxes> {
    const { folder, bootId, log } = options;
    const sandboxes = new Sandboxes(options);
    let boot = "";
    const file = await LineFile.open<SandboxRecord>({
      folder,
      name: "sandboxes.log",
      isUnsynced: true,
      meet: (record) => (boot = sandboxes.#read(record) ?? boot),
      all: () => [
        { op: "boot", id: bootId },
        { op: "seen", seen: sandboxes.#seen },
        ...sandboxes.all().map((sandbox) => ({ op: "add", sandbox }) as const),
      ],
      live: () => sandboxes.#known.size + 2,
    });
    sandboxes.#file = file;
    if (boot !== bootId) {
      sandboxes.#read({ op: "boot", id: bootId });
      await file.append({ op: "boot", id: bootId });
    }
    if (file.damaged > 0) log.warn("lines of the file of sandboxes are damaged and left out", { lines: file.damaged });
    return sandboxes;
  }

  /** The last versions that `note` was told, in any boot. */
  get seen(): SeenVersions {
    return this.#seen;
  }

  note(seen: SeenVersions): Promise<void> {
    return this.#append({ op: "seen", seen });
  }

  all(): KnownSandbox[] {
    return [...this.#known.values()];
  }

  get(attachment: Attachment): KnownSandbox | undefined {
    return this.#known.get(attachmentKey(attachment));
  }

  /** The namespace's id, for `remember`: read while the ADD waits for its commit. */
  identify(netns: string): Promise<string> {
    const asked = this.#options.identify(netns).then((id) => id ?? "");
    asked.catch(() => {});
    return asked;
  }

  /** After the commit of an ADD, before its answer. */
  async remember(sandbox: Sandbox, netnsId = this.identify(sandbox.netns)): Promise<void> {
    const { log } = this.#options;
    const { containerId, interfaceName } = sandbox;
    const before = this.#latest.get(podKey(sandbox));
    if (before !== undefined && before !== attachmentKey(sandbox)) await this.forget(this.#known.get(before)!);
    if (sandbox.holds.length === 0) return;
    try {
      if (this.#known.size >= maxSandboxes)
        throw new Error(`${maxSandboxes} are known already, which no node runs: look why none of them ends.`);
      const record = { op: "add", sandbox: { ...sandbox, netnsId: await netnsId } } as const;
      this.#read(record);
      await this.#file.append(record);
    } catch (error) {
      const words = "a sandbox could not be remembered: if its hold is lost, the address may be given again";
      log.warn(words, { containerId, interfaceName, error });
    }
  }

  /** Its holds are elsewhere now. Undefined: the sandbox is not known any more. */
  async move(sandbox: KnownSandbox, holds: readonly SandboxHold[]): Promise<KnownSandbox | undefined> {
    if (this.get(sandbox) !== sandbox) return undefined;
    const moved = { ...sandbox, holds };
    await this.#append({ op: "add", sandbox: moved });
    return moved;
  }

  async forget(attachment: Attachment): Promise<void> {
    const key = attachmentKey(attachment);
    if (this.#known.has(key)) await this.#append({ op: "gone", key });
  }

  /** Undefined: not known, since its namespace could not be seen when the address was given. */
  async isThere({ netns, netnsId }: KnownSandbox): Promise<boolean | undefined> {
    if (netnsId === "") return undefined;
    try {
      return (await this.#options.identify(netns)) === netnsId;
    } catch {
      return undefined;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #read(record: SandboxRecord): string | undefined {
    if (record.op === "boot") {
      this.#known.clear();
      this.#latest.clear();
      return record.id;
    }
    if (record.op === "seen") this.#seen = record.seen;
    else if (record.op === "add") {
      const key = attachmentKey(record.sandbox);
      this.#known.delete(key);
      this.#known.set(key, record.sandbox);
      this.#latest.set(podKey(record.sandbox), key);
    } else {
      const known = this.#known.get(record.key as AttachmentKey);
      this.#known.delete(record.key as AttachmentKey);
      if (known !== undefined && this.#latest.get(podKey(known)) === record.key) this.#latest.delete(podKey(known));
    }
    return undefined;
  }

  /** In force at once, on the disk when it resolves; a failed write is logged. */
  async #append(record: SandboxRecord): Promise<void> {
    this.#read(record);
    try {
      await this.#file.append(record);
    } catch (error) {
      this.#options.log.warn("the file of sandboxes could not be written", { error });
    }
  }
}

function podKey({ pod: { namespace, name, uid }, interfaceName }: Sandbox): string {
  return `${uid === "" ? `${namespace}/${name}` : uid} ${interfaceName}`;
}

interface MovedOptions {
  readonly held: Pick<HoldIndex, "get">;
  readonly sandboxes: Pick<Sandboxes, "get" | "move" | "remember">;
  readonly attachments: Attachments;
}

/** Remembers a hold moved out of a draining slice, in its attachment's turn: a DEL or a later ADD may come too. */
export async function rememberMoved({ held, sandboxes, attachments }: MovedOptions, entry: RecordedHold) {
  const { namespace, hold } = entry;
  const attachment = attachmentOf(hold);
  if (attachment === undefined) return;
  const { name, uid, namespace: podNamespace } = hold.owner;
  await attachments.check(attachment, new AbortController().signal, async () => {
    if (held.get(placeOf(entry)) !== entry) return;
    const known = sandboxes.get(attachment);
    const holds = [...(known?.holds ?? []), sandboxHold(namespace, hold)];
    if (known !== undefined) await sandboxes.move(known, holds);
    // Its namespace is not known: addresses of slices are in no file of sandboxes.
    else await sandboxes.remember({ ...attachment, netns: "", pod: { namespace: podNamespace, name, uid }, holds });
  });
}
