// TCP relays between the machine's loopback and a network namespace: kubeconfigs on 127.0.0.1 work for everyone.
//
// A socket belongs to the namespace it was made in, not to the process that uses it. So a listening socket is made on
// one side and handed to a process on the other: it accepts there and connects here. No address, route or interface of
// the machine is touched. relay-process.ts is the process in the namespace.
import { type ChildProcess, spawn } from "node:child_process";
import { type AddressInfo, createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";

import { dyingWithParent, type Place } from "./place.ts";
import { joinTo } from "./relay-join.ts";
import type { StateFile } from "./state.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** What is accepted at the returned place, on our loopback, goes to `target` as it is reached from inside `place`. */
export async function relayInto(place: Place, target: Endpoint, state: StateFile): Promise<Endpoint> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const child = startProcess(place, ["accept", target.host, String(target.port)], state);
  child.send("listen", server);
  await firstMessage(child);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  return { host: "127.0.0.1", port };
}

/** What is accepted at the returned place, on `host` inside `place`, goes to `target` as this process reaches it. */
export async function relayOutOf(place: Place, host: string, target: Endpoint, state: StateFile): Promise<Endpoint> {
  const child = startProcess(place, ["listen", host], state);
  const { server } = await firstMessage(child);
  if (server === undefined) throw new Error("the relay sent no socket");
  server.on("connection", joinTo(target));
  server.unref();
  return { host, port: (server.address() as AddressInfo).port };
}

function startProcess(place: Place, args: readonly string[], state: StateFile): ChildProcess {
  const program = [process.execPath, fileURLToPath(import.meta.resolve("./relay-process.ts")), ...args];
  const [command = "", ...rest] = dyingWithParent(place.wrap(program));
  // A test runner's own settings for Node (loaders, inspectors) are not for this process: it gets a bare environment.
  const env = { PATH: process.env["PATH"] };
  const child = spawn(command, rest, { stdio: ["ignore", "ignore", "inherit", "ipc"], env, detached: true });
  if (child.pid !== undefined) state.recordProcess("relay", child.pid);
  return child;
}

/** The child's first word, with a socket it may have sent. From then on the child lets this process end. */
async function firstMessage(child: ChildProcess): Promise<{ server: Server | undefined }> {
  const server = await new Promise<Server | undefined>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the relay ended with ${code} before it served`)));
    child.once("message", (_message, handle) => resolve(handle as Server | undefined));
  });
  child.unref();
  child.channel?.unref();
  return { server };
}
