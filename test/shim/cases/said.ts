// The error object that a shim printed.
import { expect } from "vitest";

import type { Ended } from "../invoke.ts";

interface Said {
  readonly cniVersion: string;
  readonly code: number;
  readonly msg: string;
}

/** Asserts what holds for every failure: one object, one line, status 1, nothing on stderr. */
export function saidBy({ status, signal, stdout, stderr }: Ended): Said {
  expect({ status, signal, stderr }).toEqual({ status: 1, signal: null, stderr: "" });
  expect(stdout.toString()).toMatch(/^\{.*\}\n$/);
  return JSON.parse(stdout.toString()) as Said;
}
