// The environment as bytes: KEY=VALUE in UTF-8, each ended by a NUL.
import { FrameError } from "./frame-error.ts";

/** The shim sends six; the rest is room for a later one. */
const countLimit = 32;
const keyPattern = /^[A-Z_][A-Z0-9_]*$/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function encodeVariables(environment: Readonly<Record<string, string>>): Uint8Array {
  const entries = Object.entries(environment);
  assertCount(entries.length);
  let text = "";
  for (const [key, value] of entries) {
    assertKey(key);
    if (value.includes("\0")) throw new FrameError("bad-environment", `${key} has a NUL in it: take it out.`);
    text += `${key}=${value}\0`;
  }
  return new TextEncoder().encode(text);
}

export function decodeVariables(bytes: Uint8Array): Readonly<Record<string, string>> {
  if (bytes.length === 0) return {};
  const lines = textOf(bytes).split("\0");
  if (lines.pop() !== "") throw new FrameError("bad-environment", "the last variable is not ended by a NUL.");
  assertCount(lines.length);
  const environment = new Map<string, string>();
  for (const line of lines) {
    const split = line.indexOf("=");
    const key = line.slice(0, Math.max(split, 0));
    assertKey(key);
    if (environment.has(key)) throw new FrameError("bad-environment", `${key} is there twice: send it once.`);
    environment.set(key, line.slice(split + 1));
  }
  return Object.fromEntries(environment);
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new FrameError("bad-environment", "the environment is not UTF-8: the runtime set a CNI_ variable wrongly.", {
      cause,
    });
  }
}

function assertKey(key: string): void {
  if (keyPattern.test(key)) return;
  throw new FrameError("bad-environment", `${JSON.stringify(key)} is no name of a variable: use A to Z, 0 to 9 and _.`);
}

function assertCount(count: number): void {
  if (count <= countLimit) return;
  throw new FrameError("bad-environment", `${count} variables are sent; at most ${countLimit} are taken.`);
}
