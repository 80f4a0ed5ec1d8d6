// What the agent served last, as the bytes of one file and back. Pure.
//
// A first line of JSON with version, length and checksum; then the records as JSON. What does not fit its first line is
// not used: half a file, or one that a disk has changed, must not be served.
import { createHash } from "node:crypto";

import type { StoredHold, StoredManagedPool } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { AgentError } from "../error.ts";

interface NetworkState {
  /** namespace/name of the NetworkAttachmentDefinition. */
  readonly network: string;
  readonly pools: readonly DeepReadonly<StoredManagedPool>[];
  readonly holds: readonly DeepReadonly<StoredHold>[];
}

export interface AgentState {
  readonly savedMs: number;
  readonly networks: readonly NetworkState[];
}

const version = 1;
const newline = 0x0a;
/** The first line has some 150 bytes. */
const firstLineMax = 1024;

export function encodeState(state: AgentState): Buffer {
  const body = Buffer.from(JSON.stringify(state));
  const first = { format: "holdfast-agent-state", version, bytes: body.length, sha256: checksum(body) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(first)}\n`), body]);
}

/** Throws AgentError "bad-state" where the bytes are not what was written. */
export function decodeState(file: Buffer): AgentState {
  const end = file.subarray(0, firstLineMax).indexOf(newline);
  const first = end < 0 ? undefined : (parsed(file.subarray(0, end)) as Record<string, unknown> | undefined);
  if (first?.["format"] !== "holdfast-agent-state") throw bad("it is no state of an agent");
  if (first["version"] !== version) throw bad(`it has version ${String(first["version"])}, not ${version}`);
  const body = file.subarray(end + 1);
  if (first["bytes"] !== body.length) throw bad("a part of it is missing");
  if (first["sha256"] !== checksum(body)) throw bad("its checksum is wrong");
  const state = parsed(body);
  if (!isState(state)) throw bad("it has no networks");
  return state;
}

function checksum(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** As deep as records are read by hand; what is inside a pool or a Hold is checked where it is compiled. */
function isState(value: unknown): value is AgentState {
  const { savedMs, networks } = (value ?? {}) as Partial<AgentState>;
  return typeof savedMs === "number" && Array.isArray(networks) && networks.every(isNetwork);
}

function isNetwork(value: unknown): value is NetworkState {
  const { network, pools, holds } = (value ?? {}) as Partial<NetworkState>;
  return typeof network === "string" && [pools, holds].every((list) => Array.isArray(list) && list.every(isObject));
}

function isObject(value: unknown): boolean {
  const { metadata, spec } = (value ?? {}) as Record<string, unknown>;
  return [metadata, spec].every((part) => typeof part === "object" && part !== null);
}

function bad(why: string): AgentError {
  return new AgentError("bad-state", `The state file cannot be used: ${why}. It is left aside, and written anew.`);
}
