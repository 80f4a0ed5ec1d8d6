// Which files an installation writes, keeps, backs up and removes: decided from the disk before anything is touched.
//
// Promised: a foreign file is never overwritten without `force`, and then a backup stays beside it; all obstacles are
// named at once; installing twice changes nothing the second time.
import { CodedError } from "../../../net/coded-error.ts";

type InstallErrorCode =
  | "foreign-file"
  | "too-many-backups"
  | "bad-name"
  | "bad-path"
  | "bad-conf"
  | "unreadable"
  | "unwritable"
  | "does-not-run"
  | "no-shim";

export class InstallError extends CodedError<InstallErrorCode> {}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Who may have written what is at the path already. */
export type Role =
  /** An executable: ours if it carries our marker. */
  | "plugin"
  /** Of people: ours only if it is the same. */
  | "config"
  /** Nobody else writes a file of this name. */
  | "own"
  /** Of people, and any content will do: written where there is none. */
  | "default";

export interface FoundFile {
  readonly content: Uint8Array;
  readonly mode: number;
}

export interface WantedFile extends FoundFile {
  readonly path: string;
  readonly role: Role;
}

export type Step =
  | { readonly kind: "write"; readonly file: WantedFile; readonly replaces: boolean }
  | { readonly kind: "keep"; readonly path: string; readonly why: string }
  | { readonly kind: "backup"; readonly path: string; readonly to: string }
  | { readonly kind: "remove"; readonly path: string };

export interface Wish {
  /** In the order in which they are to appear: what others refer to comes first. */
  readonly files: readonly WantedFile[];
  /** Of an earlier installation, to be gone where they are there. */
  readonly gone: readonly string[];
  readonly force: boolean;
}

/** A string of the shim's that every build carries (call.ts) and no other plugin does. */
const marker = "HOLDFAST_SOCKET";
const backupSuffix = ".before-holdfast";
/** Each is one forced replacement of another's file: more than these mean that two installers fight. */
const backupsLimit = 10;

export function planInstall({ files, gone, force }: Wish, find: (path: string) => FoundFile | undefined): Step[] {
  const steps: Step[] = [];
  const foreign: string[] = [];
  for (const file of files) {
    const found = find(file.path);
    if (found === undefined) {
      steps.push({ kind: "write", file, replaces: false });
    } else if (isSame(file, found)) {
      steps.push({ kind: "keep", path: file.path, why: "is current" });
    } else if (file.role === "default") {
      steps.push({ kind: "keep", path: file.path, why: "is there already" });
    } else if (isOurs(file, found)) {
      steps.push({ kind: "write", file, replaces: true });
    } else if (force) {
      steps.push(...backup(file.path, found, find), { kind: "write", file, replaces: true });
    } else {
      foreign.push(file.path);
    }
  }
  if (foreign.length > 0) {
    const message = `${foreign.join(", ")} ${foreign.length === 1 ? "is" : "are"} not Holdfast's: nothing was changed. Give --force to replace; a backup (*${backupSuffix}) stays beside it.`;
    throw new InstallError("foreign-file", message);
  }
  for (const path of gone) if (find(path) !== undefined) steps.push({ kind: "remove", path });
  return steps;
}

function isSame(file: WantedFile, found: FoundFile): boolean {
  return found.mode === file.mode && equal(found.content, file.content);
}

function isOurs(file: WantedFile, found: FoundFile): boolean {
  if (file.role === "own") return true;
  if (equal(found.content, file.content)) return true; // only the mode differs
  return file.role === "plugin" && Buffer.from(found.content).includes(marker);
}

/** Nothing to do where the same is backed up already. */
function backup(path: string, found: FoundFile, find: (path: string) => FoundFile | undefined): Step[] {
  for (let number = 0; number < backupsLimit; number++) {
    const to = `${path}${backupSuffix}${number === 0 ? "" : `.${number}`}`;
    const earlier = find(to);
    if (earlier === undefined) return [{ kind: "backup", path, to }];
    if (equal(earlier.content, found.content)) return [{ kind: "keep", path: to, why: "is the backup" }];
  }
  const message = `${path} has ${backupsLimit} different backups (*${backupSuffix}*): another installer writes the same file again and again. Stop it, and remove the backups that you do not need.`;
  throw new InstallError("too-many-backups", message);
}

function equal(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
