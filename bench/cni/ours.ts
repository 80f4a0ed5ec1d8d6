// Ours as a contestant: the shim executed, or the daemon's socket spoken to directly.
import { dirname, join } from "node:path";

import type { Contestant } from "./contestant.ts";
import { execCall } from "./exec-call.ts";
import { socketCall } from "./socket-call.ts";

export interface NetworkPlan {
  readonly range: string;
  /** Empty: the network that everybody without a name shares. */
  readonly network?: string;
}

export function configOf({ range, network = "" }: NetworkPlan): string {
  const ipam = { type: "holdfast", range, ...(network !== "" && { network_name: network }) };
  return JSON.stringify({ cniVersion: "1.0.0", name: network === "" ? "bench" : network, type: "macvlan", ipam });
}

export function byShim(shim: string, socket: string, config: string): Contestant {
  const environment = { HOLDFAST_SOCKET: socket, HOLDFAST_SPOOL: join(dirname(socket), "spool") };
  const program = { file: shim, environment };
  return { name: "holdfast", call: (command, attachment) => execCall(program, command, attachment, config) };
}

/** A program that does nothing, started as a plugin is: what every plugin pays before its first instruction. */
export function processStart(config: string): Contestant {
  const program = { file: "/bin/true" };
  return { name: program.file, call: (command, attachment) => execCall(program, command, attachment, config) };
}

export function bySocket(socket: string, config: string): Contestant {
  return { name: "daemon", call: (command, attachment) => socketCall(socket, command, attachment, config) };
}
