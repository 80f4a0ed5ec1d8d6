// One request to a daemon over its socket, in the frames that the shim speaks: what a runtime sees, without a process
// for each of a thousand requests. The shim itself has its own suite.
import { exchange, frameOf } from "../../../src/cni/socket-call.ts";

export interface CniRequest {
  readonly command: "ADD" | "DEL" | "CHECK" | "GC" | "STATUS" | "VERSION";
  readonly containerId?: string;
  readonly interface?: string;
  readonly netns?: string;
  /** CNI_ARGS. */
  readonly args?: string;
  /** Standard input: the plugin's configuration. */
  readonly config: object;
}

export interface CniAnswer {
  readonly status: number;
  /** What the shim would print, parsed; undefined where it prints nothing. */
  readonly body: CniBody | undefined;
}

/** A result, or an error. */
interface CniBody {
  readonly cniVersion?: string;
  readonly supportedVersions?: readonly string[];
  readonly ips?: readonly { readonly address: string; readonly gateway?: string; readonly version?: string }[];
  readonly ip4?: { readonly ip: string };
  readonly code?: number;
  readonly msg?: string;
  readonly details?: string;
}

export async function ask(socketPath: string, request: CniRequest): Promise<CniAnswer> {
  const environment = {
    CNI_COMMAND: request.command,
    CNI_PATH: "/opt/cni/bin",
    ...(request.containerId !== undefined && { CNI_CONTAINERID: request.containerId }),
    ...(request.interface !== undefined && { CNI_IFNAME: request.interface }),
    ...(request.netns !== undefined && { CNI_NETNS: request.netns }),
    ...(request.args !== undefined && { CNI_ARGS: request.args }),
  };
  const { exitStatus, stdout } = await exchange(socketPath, frameOf(environment, JSON.stringify(request.config)));
  const text = Buffer.from(stdout).toString("utf8");
  return { status: exitStatus, body: text === "" ? undefined : (JSON.parse(text) as CniBody) };
}

/** A daemon that begins waits seconds for the leader's word: at fifty times a second the question took half a core. */
export const statusEveryMs = 100;

/**
 * STATUS, as a runtime asks before it sends the first pod: the daemon listens, and knows what its node holds. `slicing`
 * asks for a sliced network, which needs no API server.
 */
export async function givesAddresses(socketPath: string, slicing: object = {}): Promise<boolean> {
  const ipam = { type: "holdfast", range: "192.0.2.0/24", ...slicing };
  const config = { cniVersion: "1.1.0", name: "status", type: "bridge", ipam };
  const answer = await ask(socketPath, { command: "STATUS", config }).catch(() => undefined);
  return answer?.status === 0;
}
