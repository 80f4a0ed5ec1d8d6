// What a new pool leaves out, filled in as Harvester's webhook does (M1 to M4): the server's address, start, end.
// Pure. The difference: what is there and wrong is refused, never replaced. Ends are filled where the others were
// written, inside `pool:` or beside it: so that a later change of one place never contradicts the other.
import { isFields } from "./fields.ts";
import type { PoolPlan } from "./pool-plan.ts";

/** As JSON Patch has it (RFC 6902). */
export interface Fill {
  readonly op: "add";
  readonly path: string;
  readonly value: unknown;
}

/** What to add to the object that the plan was read from; empty: it is complete. */
export function fillsFor(spec: unknown, { ipv4: { server, range } }: PoolPlan): readonly Fill[] {
  const config = isFields(spec) ? spec["ipv4Config"] : undefined;
  if (!isFields(config)) return [];
  const pool = isFields(config["pool"]) ? config["pool"] : undefined;
  const lacks = (key: "start" | "end") => isBlank(config[key]) && isBlank(pool?.[key]);
  const missing = {
    ...(lacks("start") && { start: range.first.toString() }),
    ...(lacks("end") && { end: range.last.toString() }),
  };
  return [
    ...(isBlank(config["serverIP"]) ? [fill("/spec/ipv4Config/serverIP", server.toString())] : []),
    ...fillEnds(missing, pool, !isBlank(config["start"]) || !isBlank(config["end"])),
  ];
}

function fillEnds(missing: Readonly<Record<string, string>>, pool: unknown, isBeside: boolean): readonly Fill[] {
  const entries = Object.entries(missing);
  if (entries.length === 0) return [];
  if (isBeside) return entries.map(([key, value]) => fill(`/spec/ipv4Config/${key}`, value));
  if (pool === undefined) return [fill("/spec/ipv4Config/pool", missing)];
  return entries.map(([key, value]) => fill(`/spec/ipv4Config/pool/${key}`, value));
}

function fill(path: string, value: unknown): Fill {
  return { op: "add", path, value };
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}
