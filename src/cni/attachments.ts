// GC: the attachments that are still valid, as the runtime lists them (CNI 1.1.0, section 2 "GC").
//
// An attachment that is not listed is cleaned up. So a missing or broken list cleans up nothing: read as empty, it
// would free the addresses of every pod on the node.
import { Findings } from "./config/findings.ts";
import { errorCodes } from "./error.ts";
import { isObject, type JsonObject } from "./json.ts";

export interface Attachment {
  readonly containerId: string;
  readonly interfaceName: string;
}

const key = "cni.dev/valid-attachments";
/** Runtimes write both, since the specification's text once had this name. */
const alias = "cni.dev/attachments";

/** `plugin` is the configuration object as it came. Throws CniError (code 7) with all problems. */
export function parseValidAttachments(plugin: JsonObject): readonly Attachment[] {
  const findings = new Findings(true);
  const primary = plugin[key] === undefined ? undefined : parseList(plugin[key], key, findings);
  const secondary = plugin[alias] === undefined ? undefined : parseList(plugin[alias], alias, findings);
  const list = primary ?? secondary;
  if (list === undefined) findings.refuse(key, undefined, "GC needs the list; write [] where nothing is attached");
  if (primary && secondary && textOf(primary) !== textOf(secondary)) {
    findings.refuse(alias, plugin[alias], `it differs from ${key}; write the same list, or leave it out`);
  }
  findings.settle(errorCodes.badConfiguration, "the request for garbage collection");
  return list ?? [];
}

function parseList(value: unknown, name: string, findings: Findings): Attachment[] {
  if (!Array.isArray(value)) {
    findings.refuse(name, value, "write a list of objects with containerID and ifname");
    return [];
  }
  return value.flatMap((item: unknown, index) => {
    const containerId = isObject(item) ? item["containerID"] : undefined;
    const interfaceName = isObject(item) ? item["ifname"] : undefined;
    if (isName(containerId) && isName(interfaceName)) return [{ containerId, interfaceName }];
    findings.refuse(`${name}[${index}]`, item, "write an object with containerID and ifname, neither empty");
    return [];
  });
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !value.includes("/");
}

function textOf(list: readonly Attachment[]): string {
  return JSON.stringify(list.map(({ containerId, interfaceName }) => `${containerId}/${interfaceName}`).sort());
}
