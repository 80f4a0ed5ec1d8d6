// The configuration of a process that runs in a pod: a token that rotates, an authority, and two variables.
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";

import { type Clock, realClock } from "../clock.ts";
import { type ClusterConfig, ConfigError } from "./cluster-config.ts";
import { bearer, type ReadText, rereadCredentials } from "./credentials.ts";

const folder = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface InClusterOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly read?: ReadText;
  readonly clock?: Clock;
}

export async function loadInClusterConfig(options: InClusterOptions = {}): Promise<ClusterConfig> {
  const env = options.env ?? process.env;
  const read = options.read ?? ((path: string) => readFile(path, "utf8"));
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (host === undefined || port === undefined) {
    throw new ConfigError("This process is not in a pod (KUBERNETES_SERVICE_HOST is not set): give it a kubeconfig.");
  }
  const token = async () => bearer((await read(`${folder}/token`)).trim());
  const credentials = rereadCredentials(token, options.clock ?? realClock);
  try {
    const ca = await read(`${folder}/ca.crt`);
    await credentials.current();
    const namespace = await read(`${folder}/namespace`).then(
      (text) => text.trim(),
      () => "default",
    );
    const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    return { server, ca, insecure: false, credentials, namespace };
  } catch (cause) {
    throw new ConfigError(`The pod has no service account token in ${folder}: is automountServiceAccountToken off?`, {
      cause,
    });
  }
}
