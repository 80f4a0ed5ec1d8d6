// One request of the shim: its command, its outcome, and the reply in the specification's form.
import { CniError, errorCodes, statusError } from "../../cni/error.ts";
import { type Invocation, parseInvocation } from "../../cni/invocation.ts";
import { isObject } from "../../cni/json.ts";
import type { Reply, Request } from "../../cni/protocol/frame.ts";
import { commands, parseVersion, type SpecVersion, versionReply } from "../../cni/version.ts";
import { orNone } from "../../net/or-none.ts";
import { add } from "../add/add.ts";
import type { DaemonContext } from "../context.ts";
import { del } from "../release/delete.ts";
import { check } from "./check.ts";
import { configIn } from "./configurations.ts";
import { errorReply, failureOf, jsonLine } from "./failure.ts";
import { collect } from "./garbage-collect.ts";

export type Observe = (report: {
  readonly command: string;
  /** 0: success. */
  readonly code: number;
  readonly durationMs: number;
}) => void;

const utf8 = new TextDecoder("utf-8", { fatal: true });
const lenient = new TextDecoder("utf-8");

export function makeHandler(parts: DaemonContext, observe: Observe) {
  const { clock } = parts;
  return async (request: Request, signal: AbortSignal): Promise<Reply> => {
    const startedMs = clock.monotonicMs();
    const command = request.environment["CNI_COMMAND"] ?? "";
    let code = 0;
    try {
      const result = await answer(parts, request, signal);
      if (command === "ADD") parts.log.info("given", { ...whose(request), addresses: addressesIn(result) });
      return { exitStatus: 0, stdout: result === undefined ? new Uint8Array() : jsonLine(result) };
    } catch (error) {
      const failure = failureOf(signal.aborted && !(error instanceof CniError) ? signal.reason : error);
      ({ code } = failure);
      tell(parts, request, failure);
      return errorReply(failure, versionOf(request.stdin));
    } finally {
      const durationMs = clock.monotonicMs() - startedMs;
      observe({ command: known.has(command) ? command : "other", code, durationMs });
    }
  };
}

const known: ReadonlySet<string> = new Set(commands);

/** Nothing where the specification wants silence. */
async function answer(parts: DaemonContext, request: Request, signal: AbortSignal): Promise<object | void> {
  const invocation = parseInvocation(request.environment);
  const text = textOf(request.stdin, invocation);
  switch (invocation.command) {
    case "VERSION":
      return versionReply(versionIn(text));
    case "ADD":
      await parts.spool.settled(invocation, signal);
      return add(parts, { invocation, text, signal });
    case "DEL":
      return del(parts, { invocation, text, signal });
    case "CHECK":
      return check(parts, { invocation, text, signal });
    case "GC":
      return collect(parts, text, signal);
    case "STATUS":
      return status(parts, text, signal);
  }
}

async function status(parts: DaemonContext, text: string, signal: AbortSignal): Promise<void> {
  const loaded = await configIn(parts, "STATUS", text);
  // Addresses of this node's slices need no API server. An unreadable configuration says nothing about this node.
  const isLocal = loaded !== undefined && parts.sliced.isWhole(loaded.config);
  const own = isLocal ? parts.sliced.obstacles() : await parts.readiness.obstacles(signal);
  const obstacles = loaded?.network.ovn === undefined ? own : [...own, ...(parts.ovn?.obstacles() ?? [notTold])];
  const error = statusError(obstacles, parts.reassert.conflicts > 0);
  if (error !== undefined) throw error;
}

const notTold = "The daemon of this node was not told where OVN is: start it with --ovn-northbound.";

/** A command that ends something works with any input. */
function textOf(stdin: Uint8Array, { command }: Invocation): string {
  if (command !== "ADD" && command !== "CHECK") return lenient.decode(stdin);
  try {
    return utf8.decode(stdin);
  } catch (cause) {
    throw new CniError(errorCodes.badEncoding, "the network configuration is not UTF-8: write it anew.", { cause });
  }
}

/** The version of the request, as far as it can be read. */
function versionOf(stdin: Uint8Array): SpecVersion {
  return orNone(() => parseVersion(versionIn(utf8.decode(stdin)))) ?? "1.1.0";
}

function versionIn(text: string): unknown {
  const value = orNone<unknown>(() => JSON.parse(text));
  return isObject(value) ? value["cniVersion"] : undefined;
}

function tell(parts: DaemonContext, request: Request, failure: CniError): void {
  const command = request.environment["CNI_COMMAND"];
  const level = failure.code === errorCodes.refused || failure.code === errorCodes.tryAgainLater ? "warn" : "info";
  parts.log[level](failure.message, { command, code: failure.code, ...whose(request) });
}

/** For the log, as the runtime says it. */
function whose({ environment }: Request) {
  const { CNI_CONTAINERID: containerId, CNI_IFNAME: interfaceName, CNI_ARGS: args } = environment;
  const part = (key: string) => new RegExp(`^(?:.*;)?${key}=([^;]*)`, "s").exec(args ?? "")?.[1] ?? "";
  return { pod: `${part("K8S_POD_NAMESPACE")}/${part("K8S_POD_NAME")}`, containerId, interfaceName };
}

/** Of a result of any version. */
function addressesIn(result: object | void): string {
  const {
    ips = [],
    ip4,
    ip6,
  } = (result ?? {}) as {
    readonly ips?: readonly { readonly address: string }[];
    readonly ip4?: { readonly ip: string };
    readonly ip6?: { readonly ip: string };
  };
  return [...ips.map(({ address }) => address), ip4?.ip ?? [], ip6?.ip ?? []].flat().join(", ");
}
