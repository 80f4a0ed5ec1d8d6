// The shim's part, spoken by the test itself: one request and one reply on the daemon's socket.
import { connect } from "node:net";

import { ReplyBuffer, requestFrame } from "../../src/cni/shim/wire.ts";

export interface Ask {
  readonly command: string;
  readonly container?: string;
  readonly interfaceName?: string;
  readonly args?: string;
  readonly netns?: string;
  readonly config: unknown;
}

export interface Told {
  readonly status: number;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- what a runtime reads is JSON of many shapes
  readonly json: any;
}

export function podArgs(namespace: string, name: string, uid = ""): string {
  const pairs = ["IgnoreUnknown=1", `K8S_POD_NAMESPACE=${namespace}`, `K8S_POD_NAME=${name}`];
  return [...pairs, ...(uid === "" ? [] : [`K8S_POD_UID=${uid}`])].join(";");
}

export function ask(socket: string, asked: Ask): Promise<Told> {
  const { command, container = "c1", interfaceName = "eth0", args = "", netns = "/run/netns/test", config } = asked;
  const environment = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: container,
    CNI_IFNAME: interfaceName,
    CNI_NETNS: netns,
    CNI_ARGS: args,
    CNI_PATH: "/opt/cni/bin",
  };
  return askRaw(socket, environment, typeof config === "string" ? config : JSON.stringify(config));
}

export async function askRaw(
  socket: string,
  environment: Readonly<Record<string, string>>,
  stdin: string | Uint8Array,
): Promise<Told> {
  const { exitStatus, stdout } = await exchange(socket, frameOf(environment, stdin));
  const text = new TextDecoder().decode(stdout);
  return { status: exitStatus, text, json: text === "" ? undefined : JSON.parse(text) };
}

/** As the shim sends it. */
export function frameOf(environment: Readonly<Record<string, string>>, stdin: string | Uint8Array): Uint8Array {
  const utf8 = new TextEncoder();
  const variables = Object.entries(environment).map(([key, value]) => `${key}=${value}\0`);
  return requestFrame(utf8.encode(variables.join("")), typeof stdin === "string" ? utf8.encode(stdin) : stdin);
}

/** Sends bytes as they are; rejects where the daemon closes without a whole reply, or answers with what is none. */
export function exchange(path: string, bytes: Uint8Array): Promise<ReplyBuffer> {
  const { promise, resolve, reject } = Promise.withResolvers<ReplyBuffer>();
  const reply = new ReplyBuffer();
  const socket = connect(path, () => socket.write(bytes));
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("the daemon closed the connection without a reply")));
  socket.on("data", (chunk: Buffer) => {
    reply.push(chunk);
    if (reply.problem !== "") reject(new Error(reply.problem));
    if (!reply.complete) return;
    resolve(reply);
    socket.end();
  });
  return promise;
}
