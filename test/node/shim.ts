// The shim's part, spoken by the test itself: one request and one reply on the daemon's socket.
import { exchange, frameOf } from "../../src/cni/socket-call.ts";

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
