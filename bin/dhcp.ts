// `holdfast dhcp trace`, put together: a socket on the interface, a line for each message, a file if one is asked for.
import { closeSync, openSync, writeSync } from "node:fs";

import { capture } from "../src/agent/trace/capture.ts";
import { describeFrame } from "../src/agent/trace/message-line.ts";
import { UsageError } from "../src/cli/cluster-command.ts";
import { stopSignal } from "../src/cli/connection.ts";
import type { TraceOptions } from "../src/cli/dhcp/dhcp.ts";
import type { Output } from "../src/cli/program.ts";
import { pcapHeader, pcapRecord } from "../src/dhcp/capture/pcap.ts";
import { realClock } from "../src/kube/clock.ts";
import { CodedError } from "../src/net/coded-error.ts";
import { parseMac } from "../src/net/mac.ts";

export async function trace(options: TraceOptions, output: Output): Promise<void> {
  const { count, write } = options;
  try {
    const mac = options.mac === undefined ? undefined : parseMac(options.mac);
    const file = write === undefined ? undefined : open(write);
    const done = new AbortController();
    let left = count === 0 ? Infinity : count;
    try {
      if (file !== undefined) writeSync(file, pcapHeader());
      await capture(
        options.interface,
        realClock,
        AbortSignal.any([stopSignal("SIGHUP"), done.signal]),
        (frame, atMs) => {
          const message = describeFrame(frame, atMs);
          if (message === undefined || left <= 0 || (mac !== undefined && !message.macs.includes(mac))) return;
          output.line(message.line);
          if (file !== undefined) writeSync(file, pcapRecord(atMs, frame));
          left -= 1;
          if (left <= 0) done.abort();
        },
      );
    } finally {
      if (file !== undefined) closeSync(file);
    }
  } catch (error) {
    if (error instanceof CodedError) throw new UsageError(error.message, 1, { cause: error });
    throw error;
  }
}

function open(path: string): number {
  try {
    return openSync(path, "w", 0o600);
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path} cannot be written (${code}): give --write another file.`, 1, { cause: error });
  }
}
