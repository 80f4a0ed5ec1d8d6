// The file by which kubectl and every other client find and trust this server.
import { chmodSync, renameSync, writeFileSync } from "node:fs";

import { stringify } from "yaml";

export interface Access {
  readonly url: string;
  readonly certificate: string;
  readonly token: string;
}

function kubeconfig({ url, certificate, token }: Access): string {
  const name = "holdfast";
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name, cluster: { server: url, "certificate-authority-data": Buffer.from(certificate).toString("base64") } },
    ],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  });
}

/** Whole or not at all, and never readable by others, not even for a moment. */
export function writeKubeconfig(path: string, access: Access): void {
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, kubeconfig(access), { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}
