// One call of one CNI plugin: found in CNI_PATH, given its input, its result or its error taken from its output.
import { accessSync, constants } from "node:fs";
import { join } from "node:path";

import { attempt } from "../command.ts";
import { type Attachment, pluginInput } from "./configuration.ts";
import type { CniResult } from "./status.ts";

export interface CniCall {
  readonly containerId: string;
  readonly netns: string;
  /** CNI_ARGS as the runtime gave them: K8S_POD_NAMESPACE and so on. */
  readonly args: string;
  readonly path: string;
}

class PluginError extends Error {
  override readonly name = "PluginError";
  readonly code = "PluginFailed";
}

type Command = "ADD" | "DEL" | "CHECK";

/** Every plugin of the network in turn, each given the result of the one before. */
export async function add(call: CniCall, attachment: Attachment): Promise<CniResult> {
  let result: CniResult | undefined;
  for (const position of attachment.plugins.keys()) {
    result = JSON.parse(await invoke("ADD", call, attachment, position, result)) as CniResult;
  }
  return result!;
}

/** In reverse order, as CNI says; a plugin's failure does not keep the ones before it from their turn. */
export async function del(call: CniCall, attachment: Attachment, result: CniResult | undefined): Promise<void> {
  const failures: unknown[] = [];
  for (const position of [...attachment.plugins.keys()].reverse()) {
    await invoke("DEL", call, attachment, position, result).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

export async function check(call: CniCall, attachment: Attachment, result: CniResult | undefined): Promise<void> {
  for (const position of attachment.plugins.keys()) await invoke("CHECK", call, attachment, position, result);
}

async function invoke(
  command: Command,
  call: CniCall,
  attachment: Attachment,
  position: number,
  previous: unknown,
): Promise<string> {
  const { type } = attachment.plugins[position]!;
  const { status, stdout, stderr } = await attempt([findPlugin(call.path, type)], {
    input: JSON.stringify(pluginInput(attachment, position, previous)),
    env: {
      ...process.env,
      CNI_COMMAND: command,
      CNI_CONTAINERID: call.containerId,
      CNI_NETNS: call.netns,
      CNI_IFNAME: attachment.interface,
      CNI_ARGS: call.args,
      CNI_PATH: call.path,
    },
  });
  if (status === 0) return stdout;
  throw new PluginError(
    `${command} of ${attachment.definition} (${type}, ${attachment.interface}) failed: ${wordsOf(stdout) ?? (stderr.trim() || `status ${status}`)}`,
  );
}

function findPlugin(path: string, type: string): string {
  if (type.includes("/")) throw new PluginError(`a plugin's type is a name, not a path: ${type}`);
  for (const folder of path.split(":")) {
    const file = join(folder, type);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // the next folder may have it
    }
  }
  throw new PluginError(`there is no plugin ${type} in ${path}`);
}

/** A plugin that fails prints an error object: code, msg, details. */
function wordsOf(stdout: string): string | undefined {
  try {
    const { msg, details } = JSON.parse(stdout) as { msg?: string; details?: string };
    return [msg, details].filter(Boolean).join(": ") || undefined;
  } catch {
    return undefined;
  }
}
