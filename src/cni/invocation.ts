// The environment of one invocation, judged by its command (CNI 1.1.0, section 2 "Parameters" and "CNI operations"),
// with the attachment as CNI_ARGS describes it (conventions of Kubernetes).
//
// All mistakes are reported at once, with code 4; for DEL, GC and STATUS none is: a runtime that cleans up is not sent
// away because of its input. Nothing is read but the variables that are handed in.
import type { PodOwner } from "../ipam/owner.ts";
import { Findings } from "./config/findings.ts";
import { CniError, errorCodes, type Problem } from "./error.ts";
import { commaList } from "./json.ts";
import { type Command, commands } from "./version.ts";

export interface CniArgs {
  /** A pod's name, or, without a namespace, a container's. */
  readonly podName: string;
  /** Empty where the runtime is none of Kubernetes: podman gives a container's name and nothing else. */
  readonly podNamespace: string;
  /** Empty where the runtime is too old to tell it. */
  readonly podUid: string;
  /** IP=: addresses asked for by number, as they were written. */
  readonly ips: readonly string[];
  readonly gateways: readonly string[];
  /** Keys that came with several values, where that matters. */
  readonly warnings: readonly Problem[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** ADD, DEL and CHECK concern one interface of one container. */
export interface AttachmentInvocation {
  readonly command: "ADD" | "DEL" | "CHECK";
  /** Empty, as the next, only with a DEL that does not say what it is about. */
  readonly containerId: string;
  readonly interfaceName: string;
  /** Empty only with DEL: the namespace may be gone already. */
  readonly netns: string;
  readonly args: CniArgs;
}

export type Invocation = AttachmentInvocation | { readonly command: "GC" | "STATUS" | "VERSION" };

const containerIdPattern = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
const idRule = 'give a letter or digit, followed by letters, digits, "_", "." and "-"';
/** What the kernel takes: below IFNAMSIZ (16 bytes), not "." or "..", neither "/" nor ":" nor white space. */
const interfaceNamePattern = /^(?!\.{1,2}$)[^/:\s]{1,15}$/;
const interfaceNameRule = 'give an interface name: 1 to 15 bytes, not "." or "..", without "/", ":" and white space';
/** The owner's namespace becomes a label's value. */
const labelLimit = 63;

/** What an answer hangs on. */
const answering: ReadonlySet<string> = new Set(["K8S_POD_NAME", "K8S_POD_NAMESPACE", "K8S_POD_UID", "IP", "GATEWAY"]);
const knownArguments: ReadonlySet<string> = new Set([
  ...answering,
  "IgnoreUnknown",
  "K8S_POD_INFRA_CONTAINER_ID",
  "MAC",
]);

/** A UID has neither ":" nor "/": the key of an owner in src/ipam is unambiguous because of that. */
const forms: readonly (readonly [string, RegExp, string])[] = [
  ["K8S_POD_NAME", /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, "a pod's name"],
  ["K8S_POD_NAMESPACE", /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "a namespace's name"],
  ["K8S_POD_UID", /^[a-zA-Z0-9-]{1,128}$/, "a UID"],
];
/** What podman takes for one; its own choices have an underscore. Without "/" and ":", for the key of an owner. */
const containerName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,252}$/;

export function parseInvocation(environment: Environment): Invocation {
  const findings = new Findings(true);
  const command = commandOf(environment["CNI_COMMAND"]);
  if (command === "GC" || command === "STATUS" || command === "VERSION") return { command };
  /** Empty where it is refused. */
  const read = (key: string, isRight: (value: string) => boolean, reason: string) => {
    const value = environment[key] ?? "";
    if (isRight(value)) return value;
    findings.refuse(key, environment[key], reason);
    return "";
  };
  const netnsRule = `${command} needs it; give the path of the network namespace`;
  const invocation: AttachmentInvocation = {
    command,
    containerId: read("CNI_CONTAINERID", (id) => containerIdPattern.test(id), idRule),
    interfaceName: read("CNI_IFNAME", isInterfaceName, interfaceNameRule),
    netns: read("CNI_NETNS", (path) => path !== "" || command === "DEL", netnsRule),
    args: parseArguments(environment["CNI_ARGS"] ?? "", findings),
  };
  if (command !== "DEL") findings.settle(errorCodes.badEnvironment, `the environment of ${command}`);
  return invocation;
}

/**
 * Who is to hold the addresses of this attachment. Code 4 where the runtime does not say which pod or container it is.
 *
 * Without a namespace it is a container of `nodeName`'s own runtime: the node stands for the namespace, so that equal
 * names on two nodes are two owners. `node.NAME` has a dot, which no namespace of Kubernetes has.
 */
export function ownerOf({ args, containerId, interfaceName }: AttachmentInvocation, nodeName = ""): PodOwner {
  const findings = new Findings(true);
  const remedy = "an address needs an owner; use a runtime that passes it, or add it to CNI_ARGS";
  if (args.podName === "") findings.refuse("CNI_ARGS K8S_POD_NAME", undefined, remedy);
  const namespace = args.podNamespace !== "" || nodeName === "" ? args.podNamespace : `node.${nodeName}`;
  if (namespace === "" || namespace.length > labelLimit) {
    findings.refuse("CNI_ARGS K8S_POD_NAMESPACE", undefined, remedy);
  }
  findings.settle(errorCodes.badEnvironment, `the attachment ${interfaceName} of the container ${containerId}`);
  const { podUid: uid, podName: name } = args;
  return { kind: "pod", uid, namespace, name, interface: interfaceName, containerId };
}

function commandOf(value: string | undefined): Command {
  const command = commands.find((known) => known === value);
  if (command !== undefined) return command;
  const given = value === undefined ? "missing" : JSON.stringify(value);
  const message = `CNI_COMMAND is ${given}: set it to one of ${commands.join(", ")}. A container runtime does so when it starts this plugin.`;
  throw new CniError(errorCodes.badEnvironment, message);
}

function isInterfaceName(value: string): boolean {
  return interfaceNamePattern.test(value) && new TextEncoder().encode(value).length <= 15;
}

/**
 * CNI_ARGS: `KEY=value;KEY=value`. Of a repeated key the last counts, as in libcni: Multus writes its own set before
 * the runtime's, so every key of Kubernetes comes twice, and `IgnoreUnknown=true` beside `IgnoreUnknown=1`. A refused
 * value is left out of the answer: a DEL is served whatever it is given.
 */
function parseArguments(text: string, findings: Findings): CniArgs {
  const before = findings.warnings.length;
  const values = new Map<string, string>();
  for (const pair of text.split(";").filter((each) => each !== "")) {
    const at = pair.indexOf("=");
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const earlier = values.get(key) ?? value;
    if (at < 1) findings.refuse("CNI_ARGS", pair, "write KEY=value, separated by semicolons");
    else if (earlier !== value && answering.has(key)) {
      findings.warn(`CNI_ARGS ${key}`, value, `it came before as ${JSON.stringify(earlier)}; the last one counts`);
    }
    if (at > 0) values.set(key, value);
  }
  judgeUnknown(values, findings);
  const isContainer = (values.get("K8S_POD_NAMESPACE") ?? "") === "";
  for (const [key, pattern, what] of forms) {
    const value = values.get(key) ?? "";
    if (key === "K8S_POD_NAME" && isContainer && containerName.test(value)) continue;
    if (value === "" || pattern.test(value)) continue;
    findings.refuse(`CNI_ARGS ${key}`, value, `this is not ${what}`);
    values.delete(key);
  }
  return {
    podName: values.get("K8S_POD_NAME") ?? "",
    podNamespace: values.get("K8S_POD_NAMESPACE") ?? "",
    podUid: values.get("K8S_POD_UID") ?? "",
    ips: commaList(values.get("IP")),
    gateways: commaList(values.get("GATEWAY")),
    warnings: findings.warnings.slice(before),
  };
}

/** libcni refuses what it does not know, unless told to ignore it; every Kubernetes runtime does tell so. */
function judgeUnknown(values: ReadonlyMap<string, string>, findings: Findings): void {
  const ignore = values.get("IgnoreUnknown") ?? "false";
  if (!["1", "true", "0", "false"].includes(ignore.toLowerCase())) {
    findings.refuse("CNI_ARGS IgnoreUnknown", ignore, "write 1 or 0");
  }
  if (ignore === "1" || ignore.toLowerCase() === "true") return;
  for (const [key, value] of values) {
    if (!knownArguments.has(key))
      findings.refuse(`CNI_ARGS ${key}`, value, "it is not known; remove it, or add IgnoreUnknown=1");
  }
}
