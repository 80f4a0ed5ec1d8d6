// Who may speak to a cluster: the static tokens of its components, and kubeconfigs.
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";

import type { Access } from "./rest.ts";

export interface TokenHolder {
  readonly user: string;
  readonly groups: readonly string[];
  readonly token: string;
}

const newToken = () => randomBytes(16).toString("hex");

export function nodeUser(nodeName: string): TokenHolder {
  return { user: `system:node:${nodeName}`, groups: ["system:nodes"], token: newToken() };
}

export function administrator(user: string): TokenHolder {
  return { user, groups: ["system:masters"], token: newToken() };
}

/** The API server's --token-auth-file: token, user, uid, groups. */
export function writeTokenFile(file: string, holders: readonly TokenHolder[]): void {
  const lines = holders.map(({ token, user, groups }) => `${token},${user},${user},"${groups.join(",")}"\n`);
  writeFileSync(file, lines.join(""), { mode: 0o600 });
}

/** JSON is YAML, and needs no parser of its own. */
export function writeKubeconfig(file: string, { url, ca, token }: Access, namespace = "default"): string {
  const cluster = { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lab", cluster }],
    users: [{ name: "lab", user: { token } }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "lab", namespace } }],
    "current-context": "lab",
  };
  writeFileSync(file, JSON.stringify(config, undefined, 1), { mode: 0o600 });
  return file;
}
