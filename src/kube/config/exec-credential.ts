// Credentials from a plugin, a program of the user's, run without a terminal: client.authentication.k8s.io v1, v1beta1.
import { execFile } from "node:child_process";

import type { Clock } from "../clock.ts";
import { bearer, type ClusterConfig, ConfigError, type Credential, type Credentials } from "./credentials.ts";

export interface ExecSettings {
  readonly apiVersion?: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly interactiveMode?: string;
  readonly provideClusterInfo?: boolean;
}

type ExecCluster = Pick<ClusterConfig, "server" | "ca" | "serverName">;

/** The answer's stdout. */
export type RunPlugin = (
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
) => Promise<string>;

const versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
/** A cloud's token service answers within seconds; a plugin that asks a person would wait for ever. */
const pluginTimeoutMs = 60_000;
/** A token and two PEM blocks: some KB. */
const maxOutputBytes = 1024 * 1024;
/** Fetched anew this long before it expires, so that it does not expire on its way. */
const leewayMs = 10_000;

/** One run at a time; its credential is kept until it expires or the server refuses it. */
export function execCredentials(
  settings: ExecSettings,
  cluster: ExecCluster,
  clock: Clock,
  run: RunPlugin = runPlugin,
): Credentials {
  check(settings);
  let known: { readonly credential: Credential; readonly expiresMs: number } | undefined;
  let fetching: Promise<Credential> | undefined;
  const fetch = async () => {
    const own = Object.fromEntries((settings.env ?? []).map(({ name, value }) => [name, value]));
    const env = { ...own, KUBERNETES_EXEC_INFO: JSON.stringify(execInfo(settings, cluster)) };
    known = parseExecCredential(settings, await started(settings, run(settings.command, settings.args ?? [], env)));
    return known.credential;
  };
  return {
    current() {
      if (known !== undefined && clock.wallMs() < known.expiresMs - leewayMs) return Promise.resolve(known.credential);
      fetching ??= fetch().finally(() => (fetching = undefined));
      return fetching;
    },
    reject(credential) {
      if (credential === known?.credential) known = undefined;
    },
  };
}

function check({ apiVersion, command, interactiveMode }: ExecSettings): void {
  if (apiVersion === undefined || !versions.includes(apiVersion)) {
    const message = `The plugin "${command}" speaks ${apiVersion ?? "no apiVersion"}; known are ${versions.join(" and ")}.`;
    throw new ConfigError(message);
  }
  if (interactiveMode === "Always") {
    throw new ConfigError(`The plugin "${command}" needs a terminal (interactiveMode: Always); there is none here.`);
  }
}

function execInfo(settings: ExecSettings, { server, ca, serverName }: ExecCluster): object {
  const authority = ca === undefined ? undefined : Buffer.from(ca).toString("base64");
  const cluster = { server, "certificate-authority-data": authority, "tls-server-name": serverName };
  const spec = { interactive: false, cluster: settings.provideClusterInfo === true ? cluster : undefined };
  return { apiVersion: settings.apiVersion, kind: "ExecCredential", spec };
}

async function started(settings: ExecSettings, output: Promise<string>): Promise<string> {
  try {
    return await output;
  } catch (cause) {
    const hint = settings.installHint === undefined ? "" : ` ${settings.installHint}`;
    throw new ConfigError(`The credential plugin "${settings.command}" failed: ${String(cause)}.${hint}`, { cause });
  }
}

interface ExecAnswer {
  readonly apiVersion?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function parseExecCredential(settings: ExecSettings, output: string): { credential: Credential; expiresMs: number } {
  const wrong = (what: string) => new ConfigError(`The credential plugin "${settings.command}" ${what}.`);
  let answer: ExecAnswer;
  try {
    answer = JSON.parse(output) as ExecAnswer;
  } catch {
    throw wrong("did not print JSON"); // without the cause: V8's words quote the text, which may be a bare token
  }
  if (answer.apiVersion !== settings.apiVersion) {
    throw wrong(`answered in ${answer.apiVersion}, not ${settings.apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = answer.status ?? {};
  if (token === undefined && (cert === undefined || key === undefined)) {
    throw wrong("gave neither a token nor a certificate with its key");
  }
  const { headers } = token === undefined ? { headers: {} } : bearer(token);
  const expiresMs = expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp);
  return { credential: { headers, cert, key }, expiresMs };
}

const runPlugin: RunPlugin = (command, args, env) =>
  new Promise((resolve, reject) => {
    const options = {
      env: { ...process.env, ...env },
      timeout: pluginTimeoutMs,
      killSignal: "SIGKILL" as const, // SIGTERM may be ignored, and every call waits for this one run
      maxBuffer: maxOutputBytes,
    };
    const child = execFile(command, [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message.trim()} ${stderr.trim()}`.trim(), { cause: error }));
    });
    child.stdin?.end();
  });
