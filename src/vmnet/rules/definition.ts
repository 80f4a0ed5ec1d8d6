// The network behind a pool: whether managed DHCP may give its addresses, and by which name claims mean it. Pure. A CNI
// `ipam` of its own, or `allowPersistentIPs`, would have two who answer for one address; an unreadable configuration is
// no reason.
import { isFields, show } from "./fields.ts";
import { type Issue, Issues } from "./issue.ts";
import type { NetworkRef } from "./network-ref.ts";

/** A NetworkAttachmentDefinition, as far as these rules read it. */
export interface DefinitionText {
  readonly config: string;
}

/** What else gives addresses on this network, each with what to remove from the definition. */
export function otherGivers({ config }: DefinitionText, network: NetworkRef): readonly Issue[] {
  const issues = new Issues();
  const whole = jsonOf(config);
  if (!isFields(whole)) return [];
  const listed = Array.isArray(whole["plugins"]) ? whole["plugins"].filter(isFields) : [];
  const places = [{ fields: whole, at: "" }, ...listed.map((fields, index) => ({ fields, at: `plugins[${index}].` }))];
  const subject = `NetworkAttachmentDefinition ${network.key}`;
  for (const { fields, at } of places) {
    const { ipam } = fields;
    // `{}` and `{"type": ""}` are how a plugin is told that nobody gives addresses.
    const type = isFields(ipam) ? ipam["type"] : undefined;
    if (typeof type === "string" && type !== "") {
      const message = `${subject} gives addresses by itself: its config has ${at}ipam with type ${show(type)}. Remove ${at}ipam from it, or manage another network.`;
      issues.error("two-givers", "spec.config", message);
    }
    const inside = isFields(ipam) ? ipam["allowPersistentIPs"] : undefined;
    if (fields["allowPersistentIPs"] === true || inside === true) {
      const key = inside === true ? `${at}ipam.allowPersistentIPs` : `${at}allowPersistentIPs`;
      const message = `${subject} lets claims keep addresses: its config has ${key}. Remove it, or manage another network: a VM's address on a managed network stays anyway.`;
      issues.error("two-givers", "spec.config", message);
    }
  }
  return issues.list;
}

/** The name in its CNI configuration, by which claims refer to the network; empty: it has none that can be read. */
export function networkNameIn({ config }: DefinitionText): string {
  const whole = jsonOf(config);
  if (!isFields(whole)) return "";
  const plugins = Array.isArray(whole["plugins"]) ? whole["plugins"].filter(isFields) : [];
  const names = [whole, ...plugins].map(({ name }) => name);
  return names.find((name): name is string => typeof name === "string" && name !== "") ?? "";
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
