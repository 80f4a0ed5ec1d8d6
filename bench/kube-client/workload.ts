// The same work for both clients: creates of one custom resource by many writers, and one informer over many objects.

export const group = "bench.holdfast.io";
export const version = "v1";
export const plural = "benchholds";
export const kind = "BenchHold";
export const createsNamespace = "bench-creates";
export const informerNamespace = "bench-informer";

/** About the size of a reservation: 0.5 KB, and as much again of what the server adds. */
export function hold(namespace: string, name: string, i: number) {
  const address = `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`;
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: {
      namespace,
      name,
      labels: { "bench.holdfast.io/pool": `pool-${i % 50}`, "bench.holdfast.io/node": `node-${i % 500}` },
      annotations: {
        "bench.holdfast.io/interface": "net1",
        "bench.holdfast.io/request": `request ${i} of the benchmark`,
      },
    },
    spec: {
      address,
      pool: `pool-${i % 50}`,
      owner: { namespace: "default", pod: `pod-${i}`, uid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}` },
    },
  };
}

export interface CreateFigures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The client's own time per create: what remains to compare where the server is the limit. */
  readonly cpuMs: number;
  readonly rssMb: number;
}

export interface InformerFigures {
  readonly syncMs: number;
  /** After a full collection. */
  readonly rssMb: number;
  readonly heapMb: number;
  /** The most it ever took. */
  readonly peakRssMb: number;
}

/** One client, as the benchmark sees it. */
export interface Contestant {
  create(object: ReturnType<typeof hold>): Promise<unknown>;
  /** Starts an informer on the namespace; resolves when it holds that many objects. What it returns keeps it alive. */
  sync(namespace: string, objects: number): Promise<unknown>;
  close(): Promise<void>;
}

export async function measureCreates(contestant: Contestant, creates: number, writers: number): Promise<CreateFigures> {
  const prefix = `c-${process.pid}-${Date.now()}`;
  for (let i = 0; i < writers; i++) await contestant.create(hold(createsNamespace, `${prefix}-warm-${i}`, i));
  const tookMs: number[] = [];
  let next = 0;
  const startedMs = performance.now();
  const startedCpu = process.cpuUsage();
  const writer = async () => {
    for (let i = next++; i < creates; i = next++) {
      const beganMs = performance.now();
      await contestant.create(hold(createsNamespace, `${prefix}-${i}`, i));
      tookMs.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(startedCpu);
  tookMs.sort((a, b) => a - b);
  const quantile = (q: number) => tookMs[Math.min(tookMs.length - 1, Math.floor(q * tookMs.length))] ?? 0;
  return {
    perSecond: creates / seconds,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    cpuMs: (user + system) / 1000 / creates,
    rssMb: megabytes(process.memoryUsage.rss()),
  };
}

export async function measureInformer(contestant: Contestant, objects: number): Promise<InformerFigures> {
  const startedMs = performance.now();
  const informer = await contestant.sync(informerNamespace, objects);
  const syncMs = performance.now() - startedMs;
  collect();
  const { rss, heapUsed } = process.memoryUsage();
  const peakRssMb = process.resourceUsage().maxRSS / 1024;
  if (informer === undefined) throw new Error("The contestant did not hand over its informer.");
  return { syncMs, rssMb: megabytes(rss), heapMb: megabytes(heapUsed), peakRssMb };
}

function collect(): void {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("Run with --expose-gc: memory is measured after a full collection.");
  gc();
  gc();
}

function megabytes(bytes: number): number {
  return bytes / 1024 / 1024;
}
