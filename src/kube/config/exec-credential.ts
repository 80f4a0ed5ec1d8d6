// Credentials from a plugin: client.authentication.k8s.io v1 and v1beta1. The plugin is a program of the user's; we run it without a terminal.
import { execFile } from "node:child_process";

import type { Clock } from "../clock.ts";
import { ConfigError } from "./cluster-config.ts";
import { type Credential, type Credentials } from "./credentials.ts";

export interface ExecSettings {
  readonly apiVersion?: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly interactiveMode?: string;
  readonly provideClusterInfo?: boolean;
}

export interface ExecCluster {
  readonly server: string;
  readonly ca?: string | undefined;
  readonly serverName?: string | undefined;
}

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
    const env = { ...pluginEnv(settings), KUBERNETES_EXEC_INFO: JSON.stringify(execInfo(settings, cluster)) };
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
    throw new ConfigError(
      `The plugin "${command}" speaks ${apiVersion ?? "no apiVersion"}; known are ${versions.join(" and ")}.`,
    );
  }
  if (interactiveMode === "Always") {
    throw new ConfigError(`The plugin "${command}" needs a terminal (interactiveMode: Always); there is none here.`);
  }
}

function pluginEnv(settings: ExecSettings): Record<string, string> {
  return Object.fromEntries((settings.env ?? []).map(({ name, value }) => [name, value]));
}

function execInfo(settings: ExecSettings, { server, ca, serverName }: ExecCluster): object {
  const cluster = {
    server,
    ...(ca === undefined ? {} : { "certificate-authority-data": Buffer.from(ca).toString("base64") }),
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
  };
  const spec = { interactive: false, ...(settings.provideClusterInfo === true ? { cluster } : {}) };
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

function parseExecCredential(settings: ExecSettings, output: string): { credential: Credential; expiresMs: number } {
  interface Answer {
    readonly apiVersion?: string;
    readonly status?: {
      readonly token?: string;
      readonly clientCertificateData?: string;
      readonly clientKeyData?: string;
      readonly expirationTimestamp?: string;
    };
  }
  let answer: Answer;
  try {
    answer = JSON.parse(output) as Answer;
  } catch {
    // Without the cause: V8's words quote the text, which may be a bare token.
    throw new ConfigError(`The credential plugin "${settings.command}" did not print JSON.`);
  }
  if (answer.apiVersion !== settings.apiVersion) {
    throw new ConfigError(
      `The credential plugin "${settings.command}" answered in ${answer.apiVersion}, not ${settings.apiVersion}.`,
    );
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = answer.status ?? {};
  if (token === undefined && (cert === undefined || key === undefined)) {
    throw new ConfigError(
      `The credential plugin "${settings.command}" gave neither a token nor a certificate with its key.`,
    );
  }
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
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
