// The measures, the same requests for both servers.
import { request } from "undici";

import type { Server } from "./servers.ts";

export interface Measures {
  readonly createsPerSecond: number;
  readonly createP50Ms: number;
  readonly createP99Ms: number;
  readonly listMs: number;
  readonly watchP50Ms: number;
  readonly watchP99Ms: number;
}

const writers = 16;
const objects = 10_000;
const warmUps = 300;
const lists = 7;
const events = 300;
const collection = "/apis/example.com/v1/namespaces/default/reservations";

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "reservations.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "reservations", singular: "reservation", kind: "Reservation", listKind: "ReservationList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { containerid: { type: "string" }, podref: { type: "string" }, ifname: { type: "string" } },
                required: ["podref"],
              },
            },
          },
        },
      },
    ],
  },
};

async function send(
  server: Server,
  method: "GET" | "POST",
  path: string,
  body?: object,
): Promise<{ status: number; text: string }> {
  const answer = await request(server.url + path, {
    method,
    dispatcher: server.agent,
    headers: {
      authorization: `Bearer ${server.token}`,
      "content-type": "application/json",
      accept: "application/json",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, text: await answer.body.text() };
}

async function create(server: Server, name: string): Promise<void> {
  const answer = await send(server, "POST", collection, {
    apiVersion: "example.com/v1",
    kind: "Reservation",
    metadata: { name },
    spec: { containerid: "4f6a1c0e7d3b", podref: "default/pod-1", ifname: "eth0" },
  });
  if (answer.status !== 201) throw new Error(`a create was answered ${answer.status}: ${answer.text}`);
}

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** `count` creates by all writers; the latency of each. */
async function createMany(server: Server, prefix: string, count: number): Promise<number[]> {
  const latencies: number[] = [];
  let next = 0;
  const work = async () => {
    for (let at = next++; at < count; at = next++) {
      const from = performance.now();
      await create(server, `${prefix}${at}`);
      latencies.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: writers }, work));
  return latencies;
}

export async function measureCreates(server: Server) {
  await send(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  for (let attempt = 0; attempt < 100; attempt++) {
    if ((await send(server, "GET", collection)).status === 200) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await createMany(server, "warm-", warmUps);
  const from = performance.now();
  const latencies = await createMany(server, "r-", objects - warmUps);
  const seconds = (performance.now() - from) / 1000;
  return {
    createsPerSecond: latencies.length / seconds,
    createP50Ms: quantile(latencies, 0.5),
    createP99Ms: quantile(latencies, 0.99),
  };
}

/** Until the last byte has arrived; not parsed, since that is the client's work. */
export async function measureList(server: Server) {
  const times: number[] = [];
  for (let turn = 0; turn < lists; turn++) {
    const from = performance.now();
    const { status } = await send(server, "GET", collection);
    if (status !== 200) throw new Error(`a list was answered ${status}`);
    times.push(performance.now() - from);
  }
  return { listMs: quantile(times, 0.5) };
}

/** From the moment a create is sent to the moment its event arrives, one at a time. */
export async function measureWatch(server: Server) {
  const { text } = await send(server, "GET", `${collection}?limit=1`);
  const { resourceVersion } = (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata;
  const stop = new AbortController();
  const watch = await request(`${server.url}${collection}?watch=true&resourceVersion=${resourceVersion}`, {
    dispatcher: server.agent,
    headers: { authorization: `Bearer ${server.token}`, accept: "application/json" },
    signal: stop.signal,
  });
  const latencies: number[] = [];
  let heard: (() => void) | undefined;
  const listening = (async () => {
    try {
      for await (const chunk of watch.body) if (String(chunk).includes('"ADDED"')) heard?.();
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  })();
  for (let turn = 0; turn < events; turn++) {
    const arrival = new Promise<number>((resolve) => (heard = () => resolve(performance.now())));
    const from = performance.now();
    const [at] = await Promise.all([arrival, create(server, `watched-${turn}`)]);
    latencies.push(at - from);
  }
  stop.abort();
  await listening;
  return { watchP50Ms: quantile(latencies, 0.5), watchP99Ms: quantile(latencies, 0.99) };
}
