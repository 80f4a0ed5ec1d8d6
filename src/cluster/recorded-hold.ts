// A hold and where it is recorded: the one type for lists, indexes and judges. Code that knows more extends it.
import type { Hold } from "../ipam/ledger.ts";

export interface RecordedHold {
  readonly hold: Hold;
  /** Of the object that records it, which is that of its pool. */
  readonly namespace: string;
  /** When this process was told that it came or changed; undefined: it was so before, or nobody asks. */
  readonly changedMs?: number;
}
