// The cable between a pod's namespace and the node: a pair of virtual interfaces, with all that the pod's end is to
// have. Bounded children make it: `nsenter` becomes `ip -batch`, 4 ms where nothing else runs, and a second `ip` brings
// the node's end up. One takes it away.
import { execFile } from "node:child_process";

import { isObject } from "../../cni/json.ts";
import { asError } from "../../kube/abort.ts";

/** Some milliseconds of work; a machine that is starved of processor time takes some seconds. */
const childMs = 15_000;
/** What `ip` says of one interface is some KB. */
const outputBytes = 256 * 1024;

/** `ip` refused, or could not be run; the sentence carries its words. */
class CableError extends Error {
  override readonly name = "CableError";
  readonly code = "cable";
}

export interface Cables {
  /** As lines of `ip -batch`, carried out in the pod's namespace. */
  make(netns: string, link: string, lines: string, signal: AbortSignal): Promise<void>;
  /** Both ends. Nothing, where it is gone. */
  remove(link: string, signal: AbortSignal): Promise<void>;
  has(link: string, signal: AbortSignal): Promise<boolean>;
  /** The addresses of the pod's end, without their lengths. Undefined: there is no such interface. */
  addresses(netns: string, interfaceName: string, signal: AbortSignal): Promise<readonly string[] | undefined>;
}

/** Where the node's ends are: the daemon's own. */
export const hostNetns = `/proc/${process.pid}/ns/net`;

export const cables: Cables = {
  make: async (netns, link, lines, signal) => {
    await run(["nsenter", `--net=${netns}`, "ip", "-batch", "-"], { signal, input: lines });
    await run(["ip", "link", "set", "dev", link, "up"], { signal });
  },
  remove: async (link, signal) => {
    if (await cables.has(link, signal)) await run(["ip", "link", "delete", "dev", link], { signal });
  },
  has: async (link, signal) => (await find(["ip", "-json", "link", "show", "dev", link], signal)) !== undefined,
  addresses: async (netns, interfaceName, signal) => {
    const show = ["nsenter", `--net=${netns}`, "ip", "-json", "address", "show", "dev", interfaceName];
    const found = await find(show, signal);
    const info = Array.isArray(found?.["addr_info"]) ? (found["addr_info"] as unknown[]) : [];
    return found && info.filter(isObject).map(({ local }) => String(local));
  },
};

/** Undefined: there is no such interface, or no such namespace any more. */
async function find(
  command: readonly string[],
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const list: unknown = JSON.parse(await run(command, { signal }));
    return (Array.isArray(list) ? (list as unknown[]) : []).find(isObject);
  } catch (error) {
    if (error instanceof CableError && /does not exist|No such file|Cannot find/.test(error.message)) return undefined;
    throw error;
  }
}

function run(
  [program = "", ...args]: readonly string[],
  { signal, input = "" }: { signal: AbortSignal; input?: string },
) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = { signal, timeout: childMs, killSignal: "SIGKILL", maxBuffer: outputBytes } as const;
  const child = execFile(program, args, options, (error, stdout, stderr) => {
    if (error === null) return resolve(stdout);
    const words = stderr.trim().replaceAll("\n", "; ") || asError(error).message;
    reject(new CableError(`\`${[program, ...args].join(" ")}\` failed: ${words}`, { cause: error }));
  });
  child.stdin?.on("error", () => {}); // it has ended before it read everything; how, the callback says
  child.stdin?.end(input);
  return promise;
}
