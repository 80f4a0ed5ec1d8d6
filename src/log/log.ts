// A process's log: one line per fact, JSON or text for a terminal; objects (pod, network, pool) are searchable fields.
//
// Promised: logging never throws and never waits. Not promised: that a line survives a crash that follows at once.

export type Level = "debug" | "info" | "warn" | "error";
export const levels: readonly Level[] = ["debug", "info", "warn", "error"];

export type Fields = Readonly<Record<string, unknown>>;

export interface Log extends Readonly<Record<Level, (message: string, fields?: Fields) => void>> {
  /** The same log, with these fields in every line. */
  with(fields: Fields): Log;
}

export interface LogOptions {
  readonly write: (line: string) => void;
  readonly level?: Level;
  readonly format?: "json" | "text";
  readonly now: () => number;
}

export function makeLog(options: LogOptions, always: Fields = {}): Log {
  const floor = levels.indexOf(options.level ?? "info");
  const at =
    (level: Level) =>
    (message: string, fields: Fields = {}) => {
      if (levels.indexOf(level) < floor) return;
      options.write(lineOf(options, level, message, { ...always, ...fields }));
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => makeLog(options, { ...always, ...fields }),
  };
}

export const silent: Log = makeLog({ write: () => {}, now: () => 0 });

function lineOf({ format = "json", now }: LogOptions, level: Level, message: string, fields: Fields): string {
  const time = new Date(now()).toISOString();
  const plain = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, plainOf(value)]));
  if (format === "json") return textOf({ time, level, message, ...plain });
  const pairs = Object.entries(plain).map(([key, value]) => ` ${key}=${textOf(value)}`);
  return `${time} ${level} ${message}${pairs.join("")}`;
}

/** An Error has no enumerable fields: its code and its sentence are what matters. */
function plainOf(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { code } = value as { code?: unknown };
  return code === undefined ? value.message : { code, message: value.message };
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value, (_key, each: unknown) => (typeof each === "bigint" ? each.toString() : each)) ?? "";
  } catch {
    return '"(cannot be written)"';
  }
}
