// A server begins to listen, or says in a sentence why it cannot.
import type { AddressInfo, Server } from "node:net";

import { asError } from "../abort.ts";

export interface ListenOptions {
  readonly host?: string | undefined;
  /** 0, the default, takes a free one. */
  readonly port?: number | undefined;
  /** What whoever started the program can do about it: `give another --port`. */
  readonly remedy: string;
}

/** The address is taken, or is not this machine's, or needs more rights: the operator's to change, and no defect. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use by another program",
  EADDRNOTAVAIL: "is no address of this machine",
  ENOTFOUND: "is no address of this machine",
  EACCES: "needs more rights",
};

/** The port. */
export async function listening(server: Server, { host, port = 0, remedy }: ListenOptions): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // It stays: a connection that could not be accepted later (too many open files) must not end the process.
  server.on("error", reject);
  server.listen(port, host, resolve);
  try {
    await promise;
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new ListenError(`${place(host, port)} ${reasons[code] ?? asError(cause).message}: ${remedy}.`, { cause });
  }
  return (server.address() as AddressInfo).port;
}

function place(host: string | undefined, port: number): string {
  if (host === undefined) return `port ${port}`;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
