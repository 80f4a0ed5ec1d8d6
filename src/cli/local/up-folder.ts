// The folder of a `holdfast up`: where it is unless --data says otherwise, and who serves it now.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Of the user who asks. */
export function defaultFolder(): string {
  return join(process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state"), "holdfast");
}

export const kubeconfigIn = (folder: string) => join(folder, "kubeconfig");
export const socketIn = (folder: string) => join(folder, "cni.sock");

/** The process that serves a folder, as it says of itself. */
export interface Server {
  readonly pid: number;
  /** Of its API. */
  readonly url: string;
}

const fileIn = (folder: string) => join(folder, "server.json");

/** Says who serves the folder, until it is taken back. The lock on the database decides; this only tells. */
export function announce(folder: string, server: Server): () => void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileIn(folder), `${JSON.stringify(server)}\n`, { mode: 0o600 });
  return () => rmSync(fileIn(folder), { force: true });
}

/** Undefined: nobody has said so. It may be the word of a process that was killed. */
export function announced(folder: string): Server | undefined {
  try {
    const { pid, url } = JSON.parse(readFileSync(fileIn(folder), "utf8")) as Partial<Server>;
    return typeof pid === "number" && typeof url === "string" ? { pid, url } : undefined;
  } catch {
    return undefined;
  }
}
