// The record of a migration: everything that it touches, as it was, written before the first change. It is the rollback
// file, and what a migration that was killed goes on from.
import { createHash } from "node:crypto";

import { isObject } from "../../cni/json.ts";
import { attempt } from "../../net/coded-error.ts";
import { TransferError } from "../error.ts";
import type { Goal } from "../plan/goal.ts";
import type { Plan } from "../plan/plan.ts";

/** fencing: writers are being kept out, and there is no plan yet. applying, rolling-back: begun, and perhaps killed. */
type RecordState = "fencing" | "applying" | "applied" | "rolling-back" | "rolled-back";

export interface MigrationRecord {
  readonly format: "holdfast migration 1";
  /** Names the migration; in the pause and in the leases. */
  readonly id: string;
  /** The uid of the namespace kube-system: a record is of one cluster. */
  readonly cluster: string;
  readonly systemNamespace: string;
  /** RFC 3339, for people. */
  readonly startedAt: string;
  readonly state: RecordState;
  readonly goal: PlainGoal;
  readonly plan: Plan;
  /** Records that stood at the destination before: kind, namespace/name and owner. Others were given since. */
  readonly standing: readonly string[];
}

/** A goal as JSON says it. */
export interface PlainGoal extends Omit<Goal, "names" | "pools" | "only"> {
  readonly names: readonly (readonly [string, string])[];
  readonly pools: readonly (readonly [string, string])[];
  readonly only: readonly string[];
}

export function plainOf(goal: Goal): PlainGoal {
  return { ...goal, names: [...goal.names], pools: [...goal.pools], only: [...goal.only] };
}

export function goalOf(plain: PlainGoal): Goal {
  return { ...plain, names: new Map(plain.names), pools: new Map(plain.pools), only: new Set(plain.only) };
}

/** Where a record is kept. */
export interface RecordStore {
  /** For people: the path, or the ConfigMap. */
  readonly place: string;
  load(signal: AbortSignal): Promise<MigrationRecord | undefined>;
  /** Durable when it returns; what was there before is replaced as a whole or not at all. */
  save(record: MigrationRecord, signal: AbortSignal): Promise<void>;
}

export function encodeRecord(record: MigrationRecord): string {
  const body = JSON.stringify(record, undefined, 1);
  return `${JSON.stringify({ sha256: hashOf(body) })}\n${body}\n`;
}

/** Refuses what is torn, edited or of another format: half a rollback is worse than none. */
export function decodeRecord(text: string, place: string): MigrationRecord {
  const end = text.indexOf("\n");
  const body = text.slice(end + 1).trimEnd();
  const refuse = (cause?: SyntaxError): never => {
    const words = `${place} is no whole record of a migration: it is torn, edited, or of another version. Give the one that \`holdfast migrate apply\` wrote.`;
    throw new TransferError("bad-record", words, { cause });
  };
  const head = attempt(SyntaxError, () => JSON.parse(text.slice(0, end)) as unknown, refuse);
  const record = attempt(SyntaxError, () => JSON.parse(body) as unknown, refuse);
  const isWhole = isObject(head) && head["sha256"] === hashOf(body);
  if (isWhole && isObject(record) && record["format"] === "holdfast migration 1")
    return record as unknown as MigrationRecord;
  return refuse();
}

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
