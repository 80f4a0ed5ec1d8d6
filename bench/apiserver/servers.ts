// The two servers under measurement, each in processes of its own, each with fsync on, each reached over TLS with a token.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Agent, request } from "undici";

export interface Server {
  readonly url: string;
  readonly agent: Agent;
  readonly token: string;
  readonly folder: string;
  stop(): Promise<void>;
}

/** Enough for 16 writers and a watch, each on a connection of its own. */
const connections = 20;

const newFolder = () => mkdtempSync(join(tmpdir(), "holdfast-bench-"));
const newToken = () => randomBytes(16).toString("hex");
const newAgent = (ca: string) => new Agent({ connect: { ca }, connections, bodyTimeout: 0, headersTimeout: 0 });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

export async function startEmbedded(): Promise<Server> {
  const folder = newFolder();
  const token = newToken();
  const program = fileURLToPath(new URL("serve.ts", import.meta.url));
  const child = spawn(process.execPath, [program, join(folder, "api.db"), token], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { url, certificate } = JSON.parse(line) as { url: string; certificate: string };
  const agent = newAgent(certificate);
  const stop = async () => {
    await agent.destroy();
    await end(child);
  };
  return { url, agent, token, folder, stop };
}

function binaries(): string | undefined {
  const root = join(homedir(), ".cache", "holdfast", "kube");
  const folders = existsSync(root) ? readdirSync(root).map((name) => join(root, name, "bin")) : [];
  return folders.find((folder) => existsSync(join(folder, "kube-apiserver")) && existsSync(join(folder, "etcd")));
}

/** The reason in words when it cannot be started. */
export async function startReal(): Promise<Server | string> {
  const bin = binaries();
  if (bin === undefined)
    return "kube-apiserver and etcd are not in ~/.cache/holdfast/kube/*/bin: build them with tools/kube";
  const folder = newFolder();
  const token = newToken();
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const run = (name: string, args: string[]) => {
    const log = openSync(join(folder, `${name}.log`), "a");
    return spawn(join(bin, name), args, { stdio: ["ignore", log, log], cwd: folder });
  };
  const etcdUrl = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const etcd = run("etcd", [
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
  ]);
  const api = run("kube-apiserver", apiserverFlags(folder, etcdUrl, port, token));
  const url = `https://127.0.0.1:${port}`;
  const stop = async () => {
    await end(api);
    await end(etcd);
  };
  try {
    const agent = await whenReady(folder, url, token);
    const stopAll = async () => {
      await agent.destroy();
      await stop();
    };
    return { url, agent, token, folder, stop: stopAll };
  } catch (error) {
    await stop();
    throw new Error(`kube-apiserver did not become ready; its log is in ${folder}`, { cause: error });
  }
}

function apiserverFlags(folder: string, etcdUrl: string, port: number, token: string): string[] {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = join(folder, "service-account.key");
  writeFileSync(key, privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 });
  const tokens = join(folder, "tokens");
  writeFileSync(tokens, `${token},admin,admin,system:masters\n`, { mode: 0o600 });
  mkdirSync(join(folder, "certificates"));
  return [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--cert-dir=${join(folder, "certificates")}`,
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    "--service-account-issuer=https://bench.holdfast",
    `--token-auth-file=${tokens}`,
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.96.0.0/16",
    "--disable-admission-plugins=ServiceAccount",
    "--endpoint-reconciler-type=none",
  ];
}

async function whenReady(folder: string, url: string, token: string): Promise<Agent> {
  const certificate = join(folder, "certificates", "apiserver.crt");
  let last: unknown = new Error("it never answered");
  for (let attempt = 0; attempt < 240; attempt++) {
    await sleep(250);
    if (!existsSync(certificate)) continue;
    const agent = newAgent(readFileSync(certificate, "utf8"));
    try {
      const answer = await request(`${url}/readyz`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${token}` },
      });
      await answer.body.dump();
      if (answer.statusCode === 200) return agent;
      last = new Error(`readyz answered ${answer.statusCode}`);
    } catch (error) {
      last = error;
    }
    await agent.destroy();
  }
  throw last;
}
