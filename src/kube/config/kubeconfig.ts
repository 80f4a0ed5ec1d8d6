// Kubeconfig files: which cluster, as whom, in which namespace.
//
// Paths in a file are relative to the file. TLS is always there and verified: `insecure-skip-tls-verify` is an error.
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";

import { parse, YAMLParseError } from "yaml";

import { type Clock, realClock } from "../clock.ts";
import {
  bearer,
  type ClusterConfig,
  ConfigError,
  type Credential,
  type Credentials,
  fixedCredentials,
  type ReadText,
  rereadCredentials,
} from "./credentials.ts";
import { execCredentials, type ExecSettings, type RunPlugin } from "./exec-credential.ts";

export interface KubeconfigOptions {
  /** One path or several separated by colons, as in KUBECONFIG; that variable, or ~/.kube/config, if left out. */
  readonly path?: string | undefined;
  readonly context?: string | undefined;
  readonly clock?: Clock;
  readonly read?: ReadText;
  readonly runPlugin?: RunPlugin;
}

interface ClusterEntry {
  readonly server?: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "tls-server-name"?: string;
}
interface UserEntry {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly "client-certificate"?: string;
  readonly "client-certificate-data"?: string;
  readonly "client-key"?: string;
  readonly "client-key-data"?: string;
  readonly exec?: ExecSettings;
  readonly "auth-provider"?: unknown;
}
interface ContextEntry {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}
/** A named entry, with the folder that its paths are relative to. */
interface Found<E> {
  readonly entry: E;
  readonly folder: string;
}
interface Document {
  readonly "current-context"?: string;
  readonly clusters?: readonly { readonly name: string; readonly cluster?: ClusterEntry }[];
  readonly users?: readonly { readonly name: string; readonly user?: UserEntry }[];
  readonly contexts?: readonly { readonly name: string; readonly context?: ContextEntry }[];
}
interface File {
  readonly path: string;
  readonly document: Document;
}

export async function loadKubeconfig(options: KubeconfigOptions = {}): Promise<ClusterConfig> {
  const read: ReadText = options.read ?? ((path) => readFile(path, "utf8"));
  const files = await readFiles(options.path ?? defaultPath(), read);
  const name =
    options.context ?? files.map(({ document }) => document["current-context"]).find((each) => (each ?? "") !== "");
  if (name === undefined) throw new ConfigError("The kubeconfig has no current-context: choose one with `context`.");
  const context = find<ContextEntry>(files, "context", name).entry;
  const cluster = find<ClusterEntry>(files, "cluster", context.cluster ?? "");
  const user = context.user === undefined ? undefined : find<UserEntry>(files, "user", context.user);
  const place = await readCluster(cluster, context.cluster ?? "", read);
  const clock = options.clock ?? realClock;
  const credentials =
    user === undefined
      ? fixedCredentials({ headers: {} })
      : userCredentials(user, place, read, clock, options.runPlugin);
  return { ...place, credentials, namespace: context.namespace ?? "default" };
}

/** An empty variable counts as none, as it does for kubectl. */
function defaultPath(): string {
  const { KUBECONFIG: paths = "" } = process.env;
  return paths === "" ? userKubeconfig() : paths;
}

/** Where kubectl looks without KUBECONFIG. */
export function userKubeconfig(): string {
  return join(homedir(), ".kube", "config");
}

/** Of several files, the first that names a thing wins; files that are not there are passed over, if one is. */
async function readFiles(paths: string, read: ReadText): Promise<File[]> {
  const files: File[] = [];
  const problems: unknown[] = [];
  for (const path of paths.split(delimiter).filter((each) => each !== "")) {
    try {
      files.push({ path: resolve(path), document: parseDocument(path, await read(path)) });
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      problems.push(error);
    }
  }
  if (files.length > 0) return files;
  throw new ConfigError(`There is no kubeconfig at ${paths}: name one with KUBECONFIG or --kubeconfig.`, {
    cause: problems[0],
  });
}

function parseDocument(path: string, text: string): Document {
  try {
    const document: unknown = parse(text);
    if (typeof document === "object" && document !== null) return document;
  } catch (error) {
    // The parser's own words, also as a cause, would show the line, and with it perhaps a token.
    const at = error instanceof YAMLParseError ? ` (${error.code}, line ${error.linePos?.[0].line ?? "?"})` : "";
    throw new ConfigError(`The kubeconfig ${path} is not YAML${at}.`);
  }
  throw new ConfigError(`The kubeconfig ${path} is empty.`);
}

function find<E>(files: readonly File[], field: "cluster" | "user" | "context", name: string): Found<E> {
  for (const { path, document } of files) {
    const entries = (document[`${field}s`] ?? []) as readonly {
      readonly name: string;
      readonly [key: string]: unknown;
    }[];
    const entry = entries.find((each) => each.name === name);
    if (entry !== undefined) return { entry: (entry[field] ?? {}) as E, folder: dirname(path) };
  }
  throw new ConfigError(`The kubeconfig has no ${field} "${name}" (${files.map(({ path }) => path).join(", ")}).`);
}

async function readCluster({ entry, folder }: Found<ClusterEntry>, name: string, read: ReadText) {
  const { server } = entry;
  if (server === undefined || !URL.canParse(server))
    throw new ConfigError(`The cluster "${name}" has no valid server URL.`);
  if (entry["insecure-skip-tls-verify"] === true) {
    const remedy = "anyone could answer in its place. Give it a certificate-authority.";
    throw new ConfigError(`The cluster "${name}" says insecure-skip-tls-verify: ${remedy}`);
  }
  if (new URL(server).protocol !== "https:") {
    throw new ConfigError(`The server of the cluster "${name}" is not https: tokens would go out in the clear.`);
  }
  const ca = await material(entry["certificate-authority-data"], entry["certificate-authority"], folder, read);
  return { server, ca, serverName: entry["tls-server-name"] };
}

type UsedCluster = Awaited<ReturnType<typeof readCluster>>;

/** In kubectl's order: a plugin only where no token is given, a token file before a token. */
function userCredentials(
  user: Found<UserEntry>,
  place: UsedCluster,
  read: ReadText,
  clock: Clock,
  run: RunPlugin | undefined,
): Credentials {
  const { entry, folder } = user;
  if (entry["auth-provider"] !== undefined) {
    throw new ConfigError("auth-provider was removed from Kubernetes in 1.26: use an exec plugin.");
  }
  if (entry.exec !== undefined && entry.token === undefined && entry.tokenFile === undefined) {
    const command = entry.exec.command.includes("/") ? resolve(folder, entry.exec.command) : entry.exec.command;
    return execCredentials({ ...entry.exec, command }, place, clock, run);
  }
  return rereadCredentials(() => readUser(user, read), clock);
}

async function readUser({ entry, folder }: Found<UserEntry>, read: ReadText): Promise<Credential> {
  const cert = await material(entry["client-certificate-data"], entry["client-certificate"], folder, read);
  const key = await material(entry["client-key-data"], entry["client-key"], folder, read);
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError("A client certificate and its key belong together: the kubeconfig has only one of them.");
  }
  return { headers: await headersOf(entry, folder, read), cert, key };
}

async function headersOf(entry: UserEntry, folder: string, read: ReadText): Promise<Readonly<Record<string, string>>> {
  if (entry.tokenFile !== undefined) return bearer((await read(resolve(folder, entry.tokenFile))).trim()).headers;
  if (entry.token !== undefined) return bearer(entry.token).headers;
  if (entry.username === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${entry.username}:${entry.password ?? ""}`).toString("base64")}` };
}

/** Inline data (base64) wins over a path. */
async function material(data: string | undefined, path: string | undefined, folder: string, read: ReadText) {
  if (data !== undefined && data !== "") return Buffer.from(data, "base64").toString("utf8");
  if (path !== undefined && path !== "") return read(resolve(folder, path));
  return undefined;
}
