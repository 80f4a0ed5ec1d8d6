// What the agent served last, as the bytes of one file and back. Pure.
//
// A first line of JSON with version, length and checksum; then the records as JSON. What does not fit its first line is
// not used: half a file, or one that a disk has changed, must not be served.
import { createHash } from "node:crypto";

import type { StoredHold, StoredManagedPool } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { AgentError } from "../error.ts";

type Holds = Iterable<DeepReadonly<StoredHold>>;

interface NetworkState<H extends Holds> {
  /** namespace/name of the NetworkAttachmentDefinition. */
  readonly network: string;
  readonly pools: readonly DeepReadonly<StoredManagedPool>[];
  readonly holds: H;
}

/** `H`: to be written, they are gone through at once, and once. */
export interface AgentState<H extends Holds = readonly DeepReadonly<StoredHold>[]> {
  readonly savedMs: number;
  readonly networks: readonly NetworkState<H>[];
}

export type StateToWrite = AgentState<Holds>;

const version = 1;
const newline = 0x0a;
/** Some hundred records. */
const pieceChars = 65_536;
/** The first line has some 150 bytes. */
const firstLineMax = 1024;

/** In pieces: one text, and its bytes, took 20 MiB with 10,000 bindings, for as long as the process lived. */
export function encodeState(state: StateToWrite): readonly Buffer[] {
  const pieces = [...piecesOf(state)];
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const first = { format: "holdfast-agent-state", version, bytes, sha256: hash.digest("hex") };
  return [Buffer.from(`${JSON.stringify(first)}\n`), ...pieces];
}

function* piecesOf(state: StateToWrite): Generator<Buffer> {
  let text = "";
  for (const part of partsOf(state)) {
    text += part;
    if (text.length < pieceChars) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}

/** JSON.stringify of it, record by record. */
function* partsOf({ savedMs, networks }: StateToWrite): Generator<string> {
  yield `{"savedMs":${JSON.stringify(savedMs)},"networks":[`;
  for (const [index, { network, pools, holds }] of networks.entries()) {
    yield `${index === 0 ? "" : ","}{"network":${JSON.stringify(network)},"pools":[`;
    yield* listOf(pools);
    yield `],"holds":[`;
    yield* listOf(holds);
    yield "]}";
  }
  yield "]}";
}

function* listOf(records: Iterable<object>): Generator<string> {
  let comma = "";
  for (const record of records) {
    yield comma + JSON.stringify(record);
    comma = ",";
  }
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

function isNetwork(value: unknown): boolean {
  const { network, pools, holds } = (value ?? {}) as Partial<AgentState["networks"][number]>;
  return typeof network === "string" && [pools, holds].every((list) => Array.isArray(list) && list.every(isObject));
}

function isObject(value: unknown): boolean {
  const { metadata, spec } = (value ?? {}) as Record<string, unknown>;
  return [metadata, spec].every((part) => typeof part === "object" && part !== null);
}

function bad(why: string): AgentError {
  return new AgentError("bad-state", `The state file cannot be used: ${why}. It is left aside, and written anew.`);
}
