// The real thing on loopback, for this suite alone: etcd, kube-apiserver, and the two controllers without which objects
// neither follow their owners nor leave with their namespace. Ports are free ones, files are in a temporary folder, and
// the processes die with this one.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { RunningServer } from "./suite.ts";
import { httpTransport } from "./transport.ts";

const binaries = ["etcd", "kube-apiserver", "kube-controller-manager"] as const;
const token = "conformance-admin";
/** Of the temporary folders; the process that owns one comes next in its name. */
const prefix = "holdfast-conformance-";
/** About 4 s on an idle machine; a build beside it makes that a minute. */
const readyWithinMs = 150_000;
/** A graceful stop of kube-apiserver may take a minute, and nothing here is worth it. */
const graceMs = 2_000;

/** The folder with the binaries: HOLDFAST_KUBE_BIN, or else the newest build in the cache, where tools/kube puts them. */
export function kubeBinaries(environment: NodeJS.ProcessEnv = process.env): string {
  const cache = join(cacheRoot(environment), "kube");
  const folder = environment["HOLDFAST_KUBE_BIN"] || newestBuild(cache);
  const missing = binaries.filter((name) => folder === undefined || !existsSync(join(folder, name)));
  if (folder !== undefined && missing.length === 0) return folder;
  throw new Error(
    `The real API server cannot be started: ${missing.join(", ")} not found in ${folder ?? `${cache}/*/bin`}. ` +
      "Build them with `node tools/bootstrap/enter.mjs tools/kube/main.ts`, or set HOLDFAST_KUBE_BIN to the folder that has them.",
  );
}

function cacheRoot(environment: NodeJS.ProcessEnv): string {
  const { HOLDFAST_CACHE: own, XDG_CACHE_HOME: user } = environment;
  return own || join(user || join(homedir(), ".cache"), "holdfast");
}

function newestBuild(cache: string): string | undefined {
  if (!existsSync(cache)) return undefined;
  const folders = readdirSync(cache).map((key) => join(cache, key, "bin"));
  const built = folders.filter((folder) => existsSync(folder));
  return built.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
}

/** Removes the folders of runs that were killed. Their processes are gone already: the kernel saw to that. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue;
    rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

export async function startRealServer(): Promise<RunningServer> {
  const bin = kubeBinaries();
  sweep();
  const folder = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  const children: Child[] = [];
  const stop = async () => {
    for (const child of children.reverse()) await child.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const start = (name: string, args: readonly string[]) => children.push(new Child(folder, join(bin, name), args));
    const [client, peer, secure] = await freePorts(3);
    const etcdUrl = `http://127.0.0.1:${client}`;
    start("etcd", etcdFlags(folder, etcdUrl, `http://127.0.0.1:${peer}`));
    prepare(folder);
    start("kube-apiserver", apiServerFlags(folder, etcdUrl, String(secure)));
    const url = `https://127.0.0.1:${secure}`;
    const caPem = await ready(url, folder, children);
    writeFileSync(join(folder, "kubeconfig"), kubeconfig(url, folder), { mode: 0o600 });
    start("kube-controller-manager", controllerFlags(folder));
    return { url, token, caPem, compact: () => compact(etcdUrl), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function prepare(folder: string): void {
  mkdirSync(join(folder, "certs"));
  execFileSync("openssl", ["genrsa", "-out", join(folder, "sa.key"), "2048"], { stdio: "ignore" });
  writeFileSync(join(folder, "tokens"), `${token},conformance-admin,1,"system:masters"\n`, { mode: 0o600 });
}

function etcdFlags(folder: string, client: string, peer: string): string[] {
  return [
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    "--unsafe-no-fsync",
  ];
}

function apiServerFlags(folder: string, etcdUrl: string, port: string): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--cert-dir=${join(folder, "certs")}`,
    `--service-account-key-file=${join(folder, "sa.key")}`,
    `--service-account-signing-key-file=${join(folder, "sa.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--token-auth-file=${join(folder, "tokens")}`,
    "--authorization-mode=Node,RBAC",
    "--service-cluster-ip-range=10.96.0.0/16",
    "--disable-admission-plugins=ServiceAccount",
    "--endpoint-reconciler-type=none",
    "--allow-privileged=true",
    "--shutdown-delay-duration=0",
  ];
}

/** The rate limits of the client are far above what the suite causes: each case leaves a namespace to be emptied. */
function controllerFlags(folder: string): string[] {
  return [
    `--kubeconfig=${join(folder, "kubeconfig")}`,
    "--authentication-skip-lookup",
    "--controllers=garbage-collector-controller,namespace-controller",
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=1000",
    "--kube-api-burst=2000",
  ];
}

function kubeconfig(server: string, folder: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, "certificate-authority": join(folder, "certs", "apiserver.crt") } }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
}

/** Waits for /readyz, and answers with the certificate that the server made for itself. */
async function ready(url: string, folder: string, children: readonly Child[]): Promise<string> {
  const certificate = join(folder, "certs", "apiserver.crt");
  const deadline = AbortSignal.timeout(readyWithinMs);
  let last = "no answer yet";
  while (!deadline.aborted) {
    for (const child of children) child.mustRun();
    if (existsSync(certificate)) {
      const caPem = readFileSync(certificate, "utf8");
      last = await readyz(url, caPem, deadline);
      if (last === "ok") return caPem;
    }
    await sleep(100);
  }
  throw new Error(`The real API server was not ready after ${readyWithinMs / 1000} s: ${last}`);
}

async function readyz(url: string, caPem: string, signal: AbortSignal): Promise<string> {
  const { transport, close } = httpTransport(url, caPem);
  try {
    const headers = { authorization: `Bearer ${token}` };
    const { body } = await transport({ method: "GET", path: "/readyz", headers, signal });
    return Buffer.concat(await Array.fromAsync(body)).toString("utf8");
  } catch (error) {
    return String(error);
  } finally {
    await close();
  }
}

/**
 * Compacts etcd at its present revision, through its JSON gateway, as another API server on the same etcd would do it:
 * the revision is first written to the key by which API servers tell each other, or ours would go on answering from its
 * own memory.
 */
async function compact(etcdUrl: string): Promise<void> {
  const ask = async (path: string, body: object): Promise<{ header: { revision: string } }> => {
    const signal = AbortSignal.timeout(30_000);
    const answer = await fetch(`${etcdUrl}${path}`, { method: "POST", body: JSON.stringify(body), signal });
    if (!answer.ok) throw new Error(`etcd answered ${answer.status} to ${path}: ${await answer.text()}`);
    return (await answer.json()) as { header: { revision: string } };
  };
  const key = Buffer.from("compact_rev_key").toString("base64");
  const { header } = await ask("/v3/kv/range", { key });
  await ask("/v3/kv/put", { key, value: Buffer.from(header.revision).toString("base64") });
  await ask("/v3/kv/compaction", { revision: header.revision, physical: true });
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ports.push((server.address() as AddressInfo).port);
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  return ports;
}

/** A process whose output is kept in a file, and which the kernel kills when this process ends. */
class Child {
  readonly #process: ChildProcess;
  readonly #name: string;
  readonly #log: string;
  readonly #ended: Promise<void>;

  constructor(folder: string, path: string, args: readonly string[]) {
    this.#name = path.slice(path.lastIndexOf("/") + 1);
    this.#log = join(folder, `${this.#name}.log`);
    const out = openSync(this.#log, "a");
    this.#process = spawn("setpriv", ["--pdeathsig", "KILL", path, ...args], { stdio: ["ignore", out, out] });
    closeSync(out);
    this.#ended = new Promise((resolve) => {
      this.#process.once("exit", () => resolve());
      this.#process.once("error", () => resolve());
    });
  }

  mustRun(): void {
    if (this.#process.exitCode === null && this.#process.signalCode === null && this.#process.pid !== undefined) return;
    const tail = readFileSync(this.#log, "utf8").slice(-2000);
    throw new Error(`${this.#name} ended before the API server was ready. The end of its output:\n${tail}`);
  }

  async stop(): Promise<void> {
    this.#process.kill("SIGTERM");
    await Promise.race([this.#ended, sleep(graceMs)]);
    this.#process.kill("SIGKILL");
    await this.#ended;
  }
}
