// Keeps a DEL that no daemon has done for the next daemon. Both builds share it; in the subset that scriptc compiles.
//
// Promised: a file whose name ends in ".del" holds one whole request frame, is root's alone and is on the disk when
// `keep` is true; a killed process leaves at most a ".new", which nobody reads; the bounds hold. Not promised: that a
// DEL is kept. A full spool or failing disk must not keep a pod from ending; the leader frees what was lost.
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

import { environmentLimitBytes, spoolLimitBytes, spoolLimitFiles, spooledLimitBytes } from "../protocol/limits.ts";
import type { Call } from "./call.ts";
import { requestFrame } from "./wire.ts";
import type { Outcome } from "./words.ts";

/** A DEL always succeeds: done by the daemon, or kept here. Everything else ends as it ended. */
export function settled(call: Call, stdin: Uint8Array, end: Outcome): Outcome {
  if (call.command !== "DEL" || end.exitStatus === 0) return end;
  const whole = call.variables.length + stdin.length <= spooledLimitBytes - headerBytes;
  // The sandbox is in the variables; without the configuration the daemon's own settings count.
  keep(call.spool, requestFrame(call.variables, whole ? stdin : new Uint8Array(0)));
  return { exitStatus: 0, stdout: new Uint8Array(0) };
}

const headerBytes = spooledLimitBytes - environmentLimitBytes;

function keep(folder: string, frame: Uint8Array): boolean {
  let temporary = "";
  try {
    open(folder);
    if (isFull(folder, frame.length)) return false;
    // In the order of their time; a process writes one.
    const name = `${folder}/${Date.now()}-${process.pid}`;
    temporary = `${name}.new`;
    write(temporary, frame);
    renameSync(temporary, `${name}.del`);
    sync(folder);
    return true;
  } catch {
    remove(temporary);
    return false;
  }
}

function open(folder: string): void {
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  sync(dirname(folder));
}

function isFull(folder: string, moreBytes: number): boolean {
  const names = readdirSync(folder);
  if (names.length >= spoolLimitFiles) return true;
  // Only where the largest that there can be would not fit is it worth looking.
  if ((names.length + 1) * spooledLimitBytes <= spoolLimitBytes) return false;
  let bytes = moreBytes;
  for (const name of names) bytes += sizeOf(`${folder}/${name}`);
  return bytes > spoolLimitBytes;
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0; // taken by the daemon meanwhile
  }
}

function write(path: string, bytes: Uint8Array): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    let written = 0;
    while (written < bytes.length) written += writeSync(fd, bytes, written, bytes.length - written);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function sync(folder: string): void {
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function remove(path: string): void {
  try {
    if (path !== "") unlinkSync(path);
  } catch {
    // never made, or renamed already; the daemon removes what is left
  }
}
