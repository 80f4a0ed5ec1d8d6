// The host's disk, below a root: `/`, or where an init container has mounted it.
//
// Promised: a file appears whole or not at all, also after a power cut (written beside, synced, renamed, folder
// synced), and a program that runs from the old file goes on undisturbed. Links are followed as the host follows them:
// an absolute one starts at the root, not at the container's.
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, posix } from "node:path";

import { type FoundFile, InstallError, messageOf, type Step, type WantedFile } from "./plan.ts";

/** As many as the kernel follows (path_resolution(7)). */
const linksLimit = 40;

export class Disk {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  find(path: string): FoundFile | undefined {
    const place = this.resolve(path);
    try {
      return { content: readFileSync(place), mode: statSync(place).mode & 0o7777 };
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw new InstallError("unreadable", `${place} cannot be read (${messageOf(error)}): look at what is there.`, {
        cause: error,
      });
    }
  }

  perform(step: Step): void {
    const path = step.kind === "write" ? step.file.path : step.path;
    try {
      if (step.kind === "write") this.#write(step.file);
      else if (step.kind === "backup") this.#backup(step.path, step.to);
      else if (step.kind === "remove") rmSync(this.resolve(step.path), { force: true });
    } catch (error) {
      if (error instanceof InstallError) throw error;
      const message = `${this.resolve(path)} cannot be written (${messageOf(error)}): run this as root, on a file system that can be written; what was there before is still there.`;
      throw new InstallError("unwritable", message, { cause: error });
    }
  }

  /** Where a path of the host is, links followed below the root. What does not exist yet counts as a plain name. */
  resolve(path: string): string {
    let links = 0;
    let parts = posix.normalize(path).split("/").filter(Boolean);
    let at = "/";
    while (parts.length > 0) {
      const [name = "", ...rest] = parts;
      parts = rest;
      if (name === "..") {
        at = dirname(at);
        continue;
      }
      const here = join(this.#root, at, name);
      if (!lstatSync(here, { throwIfNoEntry: false })?.isSymbolicLink()) {
        at = join(at, name);
        continue;
      }
      links += 1;
      if (links > linksLimit) throw new InstallError("bad-path", `${path} goes through more than ${linksLimit} links.`);
      const target = readlinkSync(here);
      if (target.startsWith("/")) at = "/";
      parts = [...target.split("/").filter((part) => part !== "" && part !== "."), ...parts];
    }
    return join(this.#root, at);
  }

  #write({ path, content, mode }: WantedFile): void {
    const place = this.resolve(path);
    const folder = dirname(place);
    mkdirSync(folder, { recursive: true });
    const temporary = join(folder, `.${basename(place)}.${randomBytes(6).toString("hex")}`);
    try {
      const fd = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
      try {
        writeFileSync(fd, content);
        fchmodSync(fd, mode); // not the mode of openSync, which the umask narrows
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      renameSync(temporary, place);
    } finally {
      rmSync(temporary, { force: true });
    }
    syncFolder(folder);
  }

  /** A second name of the same file, so that the first never lacks; a copy where links are not possible. */
  #backup(path: string, to: string): void {
    const from = this.resolve(path);
    const place = this.resolve(to);
    try {
      linkSync(from, place);
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw error;
      copyFileSync(from, place, constants.COPYFILE_EXCL);
    }
    syncFolder(dirname(place));
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
