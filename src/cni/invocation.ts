// The environment of one invocation, judged by its command (CNI 1.1.0, section 2 "Parameters" and "CNI operations").
//
// All mistakes are reported at once, with code 4; of what ends something (DEL, GC, STATUS) none is: whoever cleans up is not sent away
// because of what it was given. Nothing is read but the variables that are handed in.
import type { PodOwner } from "../ipam/owner.ts";
import { type CniArgs, parseArguments } from "./arguments.ts";
import { Findings } from "./config/findings.ts";
import { CniError, errorCodes } from "./error.ts";
import { type Command, commands } from "./version.ts";

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

interface NodeInvocation {
  readonly command: "GC" | "STATUS" | "VERSION";
}

export type Invocation = AttachmentInvocation | NodeInvocation;

const containerIdPattern = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
const idRule = 'give a letter or digit, followed by letters, digits, "_", "." and "-"';
/** What the kernel takes: below IFNAMSIZ (16 bytes), not "." or "..", neither "/" nor ":" nor white space. */
const interfaceNamePattern = /^(?!\.{1,2}$)[^/:\s]{1,15}$/;
const interfaceNameRule = 'give an interface name: 1 to 15 bytes, not "." or "..", without "/", ":" and white space';
/** The owner's namespace becomes a label's value. */
const labelLimit = 63;

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
 * Without a namespace it is a container of `nodeName`'s own runtime: the node stands for the namespace, so that namesakes on
 * two nodes are two owners. `node.NAME` has a dot, which no namespace of Kubernetes has.
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
  throw new CniError(
    errorCodes.badEnvironment,
    `CNI_COMMAND is ${given}: set it to one of ${commands.join(", ")}. A container runtime does so when it starts this plugin.`,
  );
}

function isInterfaceName(value: string): boolean {
  return interfaceNamePattern.test(value) && new TextEncoder().encode(value).length <= 15;
}
