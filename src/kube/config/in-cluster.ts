// The configuration of a process that runs in a pod: a token that rotates, an authority, and two variables.
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";

import { type Clock, realClock } from "../clock.ts";
import { bearer, type ClusterConfig, ConfigError, type ReadText, rereadCredentials } from "./credentials.ts";

const folder = "/var/run/secrets/kubernetes.io/serviceaccount";

interface InClusterOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly read?: ReadText;
  readonly clock?: Clock;
}

export async function loadInClusterConfig({
  env = process.env,
  read = (path) => readFile(path, "utf8"),
  clock = realClock,
}: InClusterOptions = {}): Promise<ClusterConfig> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (host === undefined || port === undefined) {
    throw new ConfigError("This process is not in a pod (KUBERNETES_SERVICE_HOST is not set): give it a kubeconfig.");
  }
  const credentials = rereadCredentials(async () => bearer((await read(`${folder}/token`)).trim()), clock);
  try {
    const ca = await read(`${folder}/ca.crt`);
    await credentials.current();
    const namespace = await read(`${folder}/namespace`).then(
      (text) => text.trim(),
      () => "default",
    );
    const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    return { server, ca, credentials, namespace };
  } catch (cause) {
    const words = `The pod has no service account token in ${folder}: is automountServiceAccountToken off?`;
    throw new ConfigError(words, { cause });
  }
}
