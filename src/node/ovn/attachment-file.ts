// What is attached to OVN on this node, and what is still to be taken away: on the disk before anything of it is made,
// and until nothing of it is left. Promised: a record that `put` has answered for survives every end of the daemon. Not
// flushed: a power cut takes cables and namespaces away with the lines, and what it leaves in OVN's northbound is
// replaced when the address, or the pod's name, has its next port (logical-ports.ts).
import type { Attachment } from "../../cni/attachments.ts";
import type { Mac } from "../../net/mac.ts";
import { LineFile } from "../holds/line-file.ts";
import type { ObjectName } from "../holds/sandboxes.ts";
import { type AttachmentKey, attachmentKey } from "../request/attachment.ts";

export interface OvnRecord extends Attachment {
  readonly netns: string;
  /** The node's end of the cable, which is a port of br-int. */
  readonly link: string;
  /** The logical port, and the switch that has it. */
  readonly port: string;
  readonly switch: string;
  readonly pod: ObjectName;
  /** The network's name in its configuration, and its definition: NAMESPACE/NAME, empty of the default network. */
  readonly network: string;
  readonly definition: string;
  readonly mac: Mac;
  readonly addresses: readonly string[];
  /** The guest has the addresses, and the pod's interface none. */
  readonly isUnaddressed: boolean;
  /** The logical port is not ours to write. */
  readonly isVms: boolean;
  /** The request's configuration, as it came: a release that has to wait goes by it. */
  readonly config: string;
  /** A DEL was answered, and not everything is taken away yet: the addresses stay as long. */
  readonly isGoing?: true;
}

type FileRecord = { readonly op: "put"; readonly record: OvnRecord } | { readonly op: "gone"; readonly key: string };

/** A node of 1,000 pods with eight networks each; more are leftovers. At 2 KB each: 16 MB. */
const recordsMax = 8192;

export class AttachmentFile {
  readonly #file: LineFile<FileRecord>;
  readonly #known: Map<AttachmentKey, OvnRecord>;

  private constructor(file: LineFile<FileRecord>, known: Map<AttachmentKey, OvnRecord>) {
    this.#file = file;
    this.#known = known;
  }

  static async open(folder: string): Promise<AttachmentFile> {
    const known = new Map<AttachmentKey, OvnRecord>();
    const file = await LineFile.open<FileRecord>({
      folder,
      name: "ovn-attachments.log",
      isUnsynced: true,
      meet: (record) => {
        if (record.op === "put") known.set(attachmentKey(record.record), record.record);
        else known.delete(record.key as AttachmentKey);
      },
      all: () => [...known.values()].map((record) => ({ op: "put", record })),
      live: () => known.size,
    });
    return new AttachmentFile(file, known);
  }

  all(): OvnRecord[] {
    return [...this.#known.values()];
  }

  get(attachment: Attachment): OvnRecord | undefined {
    return this.#known.get(attachmentKey(attachment));
  }

  /** Throws where it cannot be kept: then nothing may be made. */
  async put(record: OvnRecord): Promise<void> {
    const key = attachmentKey(record);
    const before = this.#known.get(key);
    if (before === undefined && this.#known.size >= recordsMax)
      throw new Error(`${recordsMax} attachments are on record, which no node runs: look why none of them ends.`);
    this.#known.set(key, record);
    const undo = () => void (before === undefined ? this.#known.delete(key) : this.#known.set(key, before));
    await this.#file.append({ op: "put", record }, undo);
  }

  async forget(attachment: Attachment): Promise<void> {
    const key = attachmentKey(attachment);
    if (this.#known.delete(key)) await this.#file.append({ op: "gone", key });
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
