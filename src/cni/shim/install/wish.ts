// From what was asked for on the command line to the files that are to be there. Pure.
import { basename, join, posix } from "node:path";

import { parseNetwork } from "../../config/network.ts";
import { CniError } from "../../error.ts";
import { defaultSocket, defaultSpool } from "../../protocol/limits.ts";
import { socketFile, spoolFile } from "../call.ts";
import type { InstallOptions } from "./install.ts";
import { InstallError, type WantedFile, type Wish } from "./plan.ts";

/** Every path is as the host sees it. */
export interface Demand extends Pick<InstallOptions, "binDir" | "names" | "socket" | "spool" | "confDir" | "force"> {
  readonly shim: Shim;
  readonly conf: { readonly name: string; readonly text: string } | undefined;
  /** For tools that read whereabouts' files: written as it is, with a flat file that points to it. */
  readonly whereaboutsKubeconfig: string | undefined;
}

export type Shim =
  | { readonly kind: "native"; readonly content: Uint8Array }
  | {
      readonly kind: "fallback";
      readonly launcher: string;
      /** Its path on the host; undefined to bring along `nodeContent`. */
      readonly nodePath: string | undefined;
      readonly nodeContent: Uint8Array | undefined;
    };

/** Beside the plugin, where the host has no Node of its own. */
const nodeName = "holdfast-node";
/** What a file name may be, so that it is a `type` that runtimes take and no path. */
const namePattern = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
const confPattern = /\.(conf|conflist|json)$/;
/** The kernel reads 256 bytes of a `#!` line since Linux 5.1, 128 before (BINPRM_BUF_SIZE), its end included. */
const lineLimitBytes = 127;

export function wishOf(demand: Demand): Wish {
  const { binDir, names, confDir, conf, whereaboutsKubeconfig, force } = demand;
  for (const name of names) assertName(name);
  const places = placesOf(demand);
  const files: WantedFile[] = [...nodeOf(demand)];
  for (const { path, text } of places)
    if (text !== undefined) files.push({ path, role: "own", content: bytes(`${text}\n`), mode: 0o644 });
  const plugin = pluginOf(demand);
  for (const name of new Set(names))
    files.push({ path: join(binDir, name), role: "plugin", content: plugin, mode: 0o755 });
  if (whereaboutsKubeconfig !== undefined) files.push(...whereaboutsFiles(confDir, whereaboutsKubeconfig));
  // Last: a runtime that sees it starts pods, and those need the rest.
  if (conf !== undefined) files.push(confFile(confDir, conf));
  return { files, gone: places.flatMap(({ path, text }) => (text === undefined ? [path] : [])), force };
}

/** The files that tell the plugin where its daemon is; without a text there must be none. */
function placesOf({ binDir, socket, spool }: Demand): { readonly path: string; readonly text: string | undefined }[] {
  if (socket !== undefined && (!isPath(socket) || bytes(socket).length > 107)) {
    const message = `${JSON.stringify(socket)} is no path of a socket: give an absolute one of at most 107 bytes.`;
    throw new InstallError("bad-path", message);
  }
  if (spool !== undefined && !isPath(spool)) {
    throw new InstallError("bad-path", `${JSON.stringify(spool)} is no path of a folder: give an absolute one.`);
  }
  return [
    { path: join(binDir, socketFile), text: socket === defaultSocket ? undefined : socket },
    { path: join(binDir, spoolFile), text: spool === defaultSpool ? undefined : spool },
  ];
}

function nodeOf({ binDir, shim }: Demand): WantedFile[] {
  if (shim.kind === "native" || shim.nodeContent === undefined) return [];
  return [{ path: join(binDir, nodeName), role: "own", content: shim.nodeContent, mode: 0o755 }];
}

function pluginOf({ binDir, shim }: Demand): Uint8Array {
  if (shim.kind === "native") return shim.content;
  const script = shim.launcher.slice(shim.launcher.indexOf("\n") + 1);
  return bytes(launcherOf(shim.nodePath ?? join(binDir, nodeName), script));
}

/** The fallback as a file that can be executed: `#!` and the path of Node, then the script. */
export function launcherOf(nodePath: string, script: string): string {
  const line = `#!${nodePath}`;
  if (/^\/\S*$/.test(nodePath) && bytes(line).length <= lineLimitBytes) return `${line}\n${script}`;
  const message = `the path of Node, ${JSON.stringify(nodePath)}, cannot stand in the first line of a script: it must be absolute, without white space, and have at most ${lineLimitBytes - 2} bytes. Give another with --node, for example a link.`;
  throw new InstallError("bad-path", message);
}

function whereaboutsFiles(confDir: string, kubeconfig: string): WantedFile[] {
  const folder = join(confDir, "whereabouts.d");
  const path = join(folder, "whereabouts.kubeconfig");
  const flat = `${JSON.stringify({ kubernetes: { kubeconfig: path } }, undefined, 2)}\n`;
  return [
    { path, role: "config", content: bytes(kubeconfig), mode: 0o600 },
    { path: join(folder, "whereabouts.conf"), role: "default", content: bytes(flat), mode: 0o644 },
  ];
}

function confFile(confDir: string, { name, text }: { name: string; text: string }): WantedFile {
  const file = basename(name);
  const refuse = (why: string, cause?: unknown) =>
    new InstallError("bad-conf", `${name} is no configuration that can be installed: ${why}`, { cause });
  if (!confPattern.test(file)) throw refuse("runtimes read files that end in .conflist, .conf or .json; rename it.");
  try {
    parseNetwork(text);
  } catch (error) {
    if (error instanceof CniError) throw refuse(error.message, error);
    throw error;
  }
  const isList = Object.hasOwn(JSON.parse(text) as object, "plugins");
  if (isList !== file.endsWith(".conflist")) {
    throw refuse(
      isList
        ? "a list of plugins must be in a file that ends in .conflist; rename it."
        : "a single plugin must be in a file that ends in .conf or .json; rename it.",
    );
  }
  return { path: join(confDir, file), role: "config", content: bytes(text), mode: 0o644 };
}

function assertName(name: string): void {
  const taken = [socketFile, spoolFile, nodeName];
  if (namePattern.test(name) && !taken.includes(name)) return;
  const message = `${JSON.stringify(name)} is no name for the plugin: give letters, digits, "_", "." and "-", and none of ${taken.join(", ")}.`;
  throw new InstallError("bad-name", message);
}

function isPath(path: string): boolean {
  return posix.isAbsolute(path) && !/[\0\n]/.test(path);
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
