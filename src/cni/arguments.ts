// CNI_ARGS: `KEY=value;KEY=value`, what a runtime tells about one attachment (CNI 1.1.0, section 2; conventions of Kubernetes).
//
// A key may come several times and the last counts, as in libcni: Multus writes its own set before the runtime's, so every key of
// Kubernetes comes twice, and `IgnoreUnknown=true` beside `IgnoreUnknown=1`.
import type { Findings } from "./config/findings.ts";
import type { Problem } from "./error.ts";
import { commaList } from "./json.ts";

export interface CniArgs {
  /** A pod's name, or, without a namespace, a container's. */
  readonly podName: string;
  /** Empty where the runtime is none of Kubernetes: podman gives a container's name and nothing else. */
  readonly podNamespace: string;
  /** Empty where the runtime is too old to tell it. */
  readonly podUid: string;
  /** IP=: addresses asked for by number, as they were written. */
  readonly ips: readonly string[];
  /** GATEWAY= */
  readonly gateways: readonly string[];
  /** Keys that came with several values, where that matters. */
  readonly warnings: readonly Problem[];
}

/** What an answer hangs on. */
const read: ReadonlySet<string> = new Set(["K8S_POD_NAME", "K8S_POD_NAMESPACE", "K8S_POD_UID", "IP", "GATEWAY"]);
const known: ReadonlySet<string> = new Set([...read, "IgnoreUnknown", "K8S_POD_INFRA_CONTAINER_ID", "MAC"]);

/** A UID has neither ":" nor "/": the key of an owner in src/ipam is unambiguous because of that. */
const parts: readonly (readonly [string, RegExp, string])[] = [
  ["K8S_POD_NAME", /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, "a pod's name"],
  ["K8S_POD_NAMESPACE", /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "a namespace's name"],
  ["K8S_POD_UID", /^[a-zA-Z0-9-]{1,128}$/, "a UID"],
];
/** What podman takes for one; its own choices have an underscore. Without "/" and ":", as the key of an owner wants it. */
const containerName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,252}$/;

/** What is refused is left out of the answer: for a DEL, which is served whatever it is given. */
export function parseArguments(text: string, findings: Findings): CniArgs {
  const before = findings.warnings.length;
  const values = new Map<string, string>();
  for (const pair of text.split(";")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const earlier = values.get(key) ?? value;
    if (at < 1) findings.refuse("CNI_ARGS", pair, "write KEY=value, separated by semicolons");
    else if (earlier !== value && read.has(key)) {
      findings.warn(`CNI_ARGS ${key}`, value, `it came before as ${JSON.stringify(earlier)}; the last one counts`);
    }
    if (at > 0) values.set(key, value);
  }
  judgeUnknown(values, findings);
  const isContainer = (values.get("K8S_POD_NAMESPACE") ?? "") === "";
  for (const [key, pattern, what] of parts) {
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
    if (!known.has(key))
      findings.refuse(`CNI_ARGS ${key}`, value, "it is not known; remove it, or add IgnoreUnknown=1");
  }
}
