// From a NetworkAttachmentDefinition and a selection to what each plugin of the network reads on its standard input.
import type { Selection } from "./selection.ts";

interface PluginConfiguration {
  readonly type: string;
  readonly capabilities?: Readonly<Record<string, boolean>>;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/** One plugin, or a list of them. */
interface NetworkConfiguration {
  readonly name?: string;
  readonly cniVersion?: string;
  readonly plugins?: readonly PluginConfiguration[];
}

/** A network to attach: kept in the cache, so that DEL needs neither the pod nor the definition. */
export interface Attachment {
  /** `namespace/name` of the definition. */
  readonly definition: string;
  readonly interface: string;
  /** The CNI network's own name: what IPAM plugins key their records by. */
  readonly network: string;
  readonly cniVersion: string;
  readonly plugins: readonly PluginConfiguration[];
  readonly selection: Selection;
}

export interface Definition {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec?: { readonly config?: string };
}

export function toAttachment(definition: Definition, selection: Selection, defaultVersion: string): Attachment {
  const { name, namespace } = definition.metadata;
  const where = `the NetworkAttachmentDefinition ${namespace}/${name}`;
  if (!definition.spec?.config) throw new Error(`${where} has no spec.config, and the lab keeps none on disk`);
  let config: NetworkConfiguration;
  try {
    config = JSON.parse(definition.spec.config) as NetworkConfiguration;
  } catch (cause) {
    throw new Error(`${where} has a spec.config that is no JSON: ${(cause as Error).message}`, { cause });
  }
  const plugins = (config.plugins ?? [config]) as PluginConfiguration[];
  if (plugins.length === 0 || plugins.some(({ type }) => typeof type !== "string" || type === "")) {
    throw new Error(`${where} has a plugin without a type`);
  }
  return {
    definition: `${namespace}/${name}`,
    interface: selection.interface,
    network: config.name ?? name,
    cniVersion: config.cniVersion ?? defaultVersion,
    plugins,
    selection,
  };
}

/** What the plugin at `position` reads: its own configuration, what the runtime adds, and the result so far. */
export function pluginInput(attachment: Attachment, position: number, previous: unknown): Record<string, unknown> {
  const plugin = attachment.plugins[position]!;
  const { capabilities = {}, ...own } = plugin;
  const requested = runtimeRequests(attachment.selection);
  const runtimeConfig = Object.fromEntries(Object.entries(requested).filter(([name]) => capabilities[name] === true));
  const cniArgs = argumentsOf(attachment.selection);
  return {
    ...own,
    cniVersion: attachment.cniVersion,
    name: attachment.network,
    ...(Object.keys(runtimeConfig).length > 0 && { runtimeConfig }),
    ...(cniArgs && { args: { ...plugin.args, cni: { ...(plugin.args?.["cni"] as object | undefined), ...cniArgs } } }),
    ...(previous !== undefined && { prevResult: previous }),
  };
}

/** Key: the capability under which CNI knows the request. */
function runtimeRequests({ ips, mac }: Selection): Record<string, unknown> {
  return { ...(ips && { ips }), ...(mac !== undefined && { mac }) };
}

/** The claim's reference travels with cni-args, where a plugin that does not know it does not look. */
function argumentsOf({ cniArgs, ipamClaimReference }: Selection): Record<string, unknown> | undefined {
  if (cniArgs === undefined && ipamClaimReference === undefined) return undefined;
  return { ...cniArgs, ...(ipamClaimReference !== undefined && { "ipam-claim-reference": ipamClaimReference }) };
}
