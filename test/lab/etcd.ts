// etcd, a single member on unix sockets in the cluster's folder: no port to collide, and nobody else can reach it.
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import type { KubeBinaries } from "../../tools/kube/build.ts";
import { Component } from "./component.ts";
import type { Place } from "./place.ts";
import type { StateFile } from "./state.ts";

export interface EtcdPlan {
  readonly binaries: KubeBinaries;
  readonly state: StateFile;
  readonly place: Place;
  /** False: etcd forgets what the kernel had not written at a power cut; a kill of the process loses nothing. */
  readonly fsync: boolean;
}

export function makeEtcd({ binaries, state, place, fsync }: EtcdPlan): Component {
  const { folder } = state;
  const client = etcdUrl(folder);
  // The peer address is never used by a single member, but etcd insists on one.
  const peer = `unix://${join(folder, "etcd-peer.sock")}`;
  const command = [
    binaries.path("etcd"),
    `--data-dir=${join(folder, "etcd")}`,
    `--log-level=warn`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    ...(fsync ? [] : ["--unsafe-no-fsync"]),
  ];
  const isReady = async () => (await ask(folder, "GET", "/health")).status === 200;
  return new Component({ name: "etcd", command, place, logFile: join(folder, "etcd.log"), isReady }, state);
}

export const etcdUrl = (folder: string) => `unix://${socketIn(folder)}`;
const socketIn = (folder: string) => join(folder, "etcd.sock");

/** Forgets all history up to now, and writes the key by which API servers learn of it: theirs is forgotten too. */
export async function compact(folder: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const { status, words } = await ask(folder, "POST", path, JSON.stringify(body));
    if (status !== 200) throw new Error(`etcd answered ${status} to ${path}: ${words}`);
    return JSON.parse(words) as { header: { revision: string } };
  };
  const key = Buffer.from("compact_rev_key").toString("base64");
  const { header } = await post("/v3/kv/range", { key });
  await post("/v3/kv/put", { key, value: Buffer.from(header.revision).toString("base64") });
  await post("/v3/kv/compaction", { revision: header.revision, physical: true });
}

/** etcd answers within milliseconds or not at all. */
const deadlineMs = 5000;

function ask(
  folder: string,
  method: "GET" | "POST",
  path: string,
  body = "",
): Promise<{ status: number; words: string }> {
  const signal = AbortSignal.timeout(deadlineMs);
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: socketIn(folder), method, path, signal, agent: false }, (answer) => {
      text(answer).then((words) => resolve({ status: answer.statusCode ?? 0, words }), reject);
    });
    sent.once("error", reject);
    sent.end(body);
  });
}
