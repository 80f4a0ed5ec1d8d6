// Who takes part in a measurement: something that answers ADD and DEL.
import { accessSync, constants } from "node:fs";

import type { Attachment, Command } from "./attachment.ts";
import type { Reply } from "./reply.ts";

export interface Contestant {
  readonly name: string;
  call(command: Command, attachment: Attachment): Promise<Reply>;
}

/** A peer that cannot take part, and why. */
export interface Absent {
  readonly name: string;
  readonly reason: string;
}

export function isPresent<Entry extends object>(entry: Entry | Absent): entry is Entry {
  return !("reason" in entry);
}

/** Why the file cannot be run; undefined where it can. */
export function whyNotExecutable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
