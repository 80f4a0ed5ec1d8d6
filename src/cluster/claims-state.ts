// Whether persistent addresses are on, as the leader tells every daemon: key `claims` of the ConfigMap holdfast-state
// (docs/decisions/0014). Pure. Promised: a missing or unreadable key reads as unknown: a daemon then waits for a claim
// where the definition asks for one, as if they were on.
import { z } from "zod";

import { orNone } from "../net/or-none.ts";
import type { ConfigMap } from "./resources.ts";

const content = z.object({
  /** The gate VMPersistentIPs. */
  gate: z.enum(["on", "off"]),
  /** Only VMs with the label allow-persistent-ips.k8s.cni.cncf.io get claims. */
  needsLabel: z.boolean().default(false),
});

export type ClaimsState = { readonly gate: "on" | "off" | "unknown"; readonly needsLabel: boolean };

export const claimsKey = "claims";

export function readClaimsState(object: Pick<ConfigMap, "data"> | undefined): ClaimsState {
  const read = orNone(() => content.parse(JSON.parse(object?.data?.[claimsKey] ?? "null")));
  return read ?? { gate: "unknown", needsLabel: false };
}

export function writeClaimsState({ gate, needsLabel }: ClaimsState): string {
  return JSON.stringify({ gate, needsLabel });
}
