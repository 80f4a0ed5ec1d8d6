// The programs themselves on the real API server, killed with -9 one after the other under ADD and DEL: daemons,
// controller, API server. No address is given twice, none is lost; at the end journals and mirrors say the same.
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { type PodIdentity, Fixture } from "../lab/holdfast/fixture.ts";
import { RestError } from "../lab/rest.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { dangers, type Given, remains } from "./audit.ts";
import { type Books, readBooks } from "./books.ts";

const callers = 12;
const rounds = 12;
/** Each of the programs at least once, whatever the speed of the machine. */
const killsMin = 6;
const network = "killed";
const config = {
  cniVersion: "1.0.0",
  name: network,
  type: "bridge",
  ipam: { type: "holdfast", range: "10.140.0.0/25", node_slice_size: "/28", network_name: network },
};

let fixture: Fixture;
let connection: Connection;
/** Key: address. */
const given = new Map<string, Given>();
const violations: string[] = [];
beforeAll(async () => {
  const nodeArgs = ["--cooldown-seconds=0"];
  fixture = await Fixture.start({ api: "real", daemons: 3, controller: true, nodeArgs });
  connection = connect(await loadKubeconfig({ path: fixture.api.kubeconfig }));
  await surely("the definition", () =>
    fixture.api.rest.create("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions", {
      apiVersion: "k8s.cni.cncf.io/v1",
      kind: "NetworkAttachmentDefinition",
      metadata: { name: network },
      spec: { config: JSON.stringify(config) },
    }),
  );
}, coldStartTimeoutMs);
afterAll(async () => {
  await connection?.[Symbol.asyncDispose]();
  await fixture?.stop();
});
beforeEach(() => onTestFailed(() => console.error(fixture.lastWords())));

/** The API server may be away for a while. */
const surely = <T>(what: string, ask: () => Promise<T>): Promise<T> => until(ask, { what, everyMs: 100 });

interface Living {
  readonly node: string;
  readonly pod: PodIdentity;
  readonly sandbox: string;
  readonly address: string;
}

/** One that the API server made and was killed before it could say so is there already. */
async function made(name: string, node: string): Promise<PodIdentity> {
  try {
    return await fixture.createPod(name, node);
  } catch (error) {
    if (!(error instanceof RestError && error.code === 409)) throw error;
    const path = `/api/v1/namespaces/default/pods/${name}`;
    const { metadata } = await fixture.api.rest.get<{ metadata: { uid: string } }>(path);
    return { namespace: "default", name, uid: metadata.uid };
  }
}

async function come(name: string, node: string): Promise<Living> {
  const pod = await surely(`the pod ${name}`, () => made(name, node));
  let tries = 0;
  return until(
    async () => {
      const sandbox = `${name}-${++tries}`;
      const told = await fixture.request("ADD", node, pod, config, { containerId: sandbox }).catch(() => undefined);
      if (told?.status === 0) return note({ node, pod, sandbox, address: told.body!.ips![0]!.address.split("/")[0]! });
      await release(node, pod, sandbox);
      return undefined;
    },
    { what: `an address for ${name}`, everyMs: 50, timeoutMs: 120_000 },
  );
}

function note(living: Living): Living {
  const { node, pod, sandbox, address } = living;
  const other = given.get(address);
  if (other !== undefined) violations.push(`${address} was given to ${pod.name} while ${other.who} has it`);
  const who = `default/${pod.name} net1`;
  given.set(address, { node, namespace: "kube-system", network, address, who, container: sandbox });
  return living;
}

async function release(node: string, pod: PodIdentity, sandbox: string): Promise<void> {
  await until(
    async () => {
      const told = await fixture.request("DEL", node, pod, config, { containerId: sandbox });
      return told.status === 0;
    },
    { what: `the DEL of ${sandbox}`, everyMs: 50, timeoutMs: 120_000 },
  );
}

async function go({ node, pod, sandbox, address }: Living): Promise<void> {
  given.delete(address);
  await release(node, pod, sandbox);
  const path = `/api/v1/namespaces/default/pods/${pod.name}?gracePeriodSeconds=0`;
  await surely(`${pod.name} to be deleted`, async () => {
    try {
      await fixture.api.rest.delete(path);
    } catch (error) {
      // The API server was killed before it could say that it had done it.
      if (!(error instanceof RestError && error.code === 404)) throw error;
    }
    return true;
  });
}

let killed = 0;

/** The last pod of a caller stays. */
async function call(caller: number): Promise<void> {
  for (let round = 0, isLast = false; !isLast; round++) {
    const node = `node${1 + ((caller + round) % 3)}`;
    const living = await come(`p${caller}-${round}`, node);
    await pause(Math.random() * 400);
    isLast = round >= rounds - 1 && killed >= killsMin;
    if (!isLast) await go(living);
  }
}

/** One after the other, until the callers are done. */
async function kill(done: AbortSignal): Promise<number> {
  for (let kills = 0; ; kills++) {
    if (done.aborted) return kills;
    await pause(500 + Math.random() * 1500);
    if (kills % 5 === 4) {
      await fixture.api.server.kill();
      await pause(3000);
      await fixture.api.server.start();
    } else if (kills % 5 === 2) await fixture.controller!.kill();
    else await fixture.daemon(`node${1 + (kills % 3)}`).process.restart();
    await fixture.controller!.start();
    killed += 1;
  }
}

async function settle(): Promise<Books> {
  return until(
    async () => {
      const books = await readBooks(connection.client);
      const wrong = [...dangers(books, [...given.values()]), ...remains(books, [...given.values()])];
      if (wrong.length === 0) return books;
      throw new Error(wrong.join("\n"));
    },
    { what: "records and sandboxes to agree", everyMs: 500, timeoutMs: 120_000 },
  );
}

test("killed under load: none twice, none lost, journals and mirrors alike", { timeout: 600_000 }, async () => {
  // Every node has its slice first: a controller that is killed leads again only when its lease has run out.
  for (const node of ["node1", "node2", "node3"]) await go(await come(`first-${node}`, node));
  const done = new AbortController();
  const killing = kill(done.signal);
  try {
    await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  } finally {
    done.abort();
  }
  expect(await killing).toBeGreaterThanOrEqual(killsMin);
  expect(violations).toEqual([]);
  expect(given.size).toBe(callers);
  const { slices } = await settle();
  for (const { name, process, socket } of fixture.daemons) {
    await process.kill();
    const journal = await Journal.open({ folder: join(socket, "..", "..", "state", "slices"), now: Date.now });
    const held = [...journal.holds()].map(({ address }) => String(address));
    const mirrored = slices.filter((each) => each.node === name).flatMap(({ entries }) => entries);
    expect(held.toSorted()).toEqual(mirrored.map(({ address }) => String(address)).toSorted());
    await journal.close();
  }
});
