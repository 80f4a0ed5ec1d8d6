// The annotation in which a multi-network plugin says what each interface of a pod got (multi-network standard, section
// 5). Read leniently: others write it, and an unreadable one proves nothing. Promised: only addresses that parse.
import type { Address } from "../net/address.ts";
import { attempt } from "../net/coded-error.ts";
import { tryAddress } from "./holds/address-name.ts";

const annotations = ["k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status"];

export interface InterfaceStatus {
  /** namespace/name of the NetworkAttachmentDefinition, or the name of a network that has none. */
  readonly network: string;
  /** Empty where it is not said. */
  readonly interface: string;
  readonly addresses: readonly Address[];
  /** The pod's first network, which is not ours. */
  readonly isDefault: boolean;
}

/** The one annotation to keep of a pod; undefined where there is none. */
export function statusAnnotation(all: Readonly<Record<string, string>> | undefined): string | undefined {
  return annotations.map((name) => all?.[name]).find((text) => text !== undefined);
}

/** Undefined: nothing is known. An empty list: the plugin said that there is nothing. */
export function readNetworkStatus(text: string | undefined): readonly InterfaceStatus[] | undefined {
  if (text === undefined) return undefined;
  const parsed = attempt(SyntaxError, () => JSON.parse(text) as unknown);
  if (!Array.isArray(parsed)) return undefined;
  return parsed.flatMap((entry: unknown) => {
    if (typeof entry !== "object" || entry === null) return [];
    const { name, interface: port, ips, default: isDefault } = entry as Record<string, unknown>;
    // Some plugins write the prefix length behind it.
    const addresses = (Array.isArray(ips) ? ips : []).flatMap((ip) => tryAddress(textOf(ip).split("/")[0]!) ?? []);
    return [{ network: textOf(name), interface: textOf(port), addresses, isDefault: isDefault === true }];
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
