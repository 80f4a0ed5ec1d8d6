// The clients' traffic with the API server, counted where it leaves them: requests by verb and kind, bytes of bodies.
//
// Not counted: headers, TLS and TCP. A watch is one request when it is opened; what it tells is counted as it comes.
import type { ApiRequest, ApiResponse, Transport } from "../../src/kube/transport/transport.ts";

export interface TrafficCount {
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Answers of 400 and above, and none at all. */
  readonly failed: number;
}

/** Key: `VERB plural`, WATCH for a watch. */
export type TrafficReading = Readonly<Record<string, TrafficCount>>;

const nothing: TrafficCount = { requests: 0, sentBytes: 0, receivedBytes: 0, failed: 0 };

export class Traffic {
  readonly #counts = new Map<string, TrafficCount>();

  reading(): TrafficReading {
    return Object.fromEntries(this.#counts);
  }

  counting(transport: Transport): Transport {
    return async (request) => {
      const key = keyOf(request);
      this.#add(key, { requests: 1, sentBytes: sizeOf(request.body) });
      try {
        const response = await transport(request);
        if (response.status >= 400) this.#add(key, { failed: 1 });
        return { ...response, body: this.#counted(key, response) };
      } catch (error) {
        this.#add(key, { failed: 1 });
        throw error;
      }
    };
  }

  async *#counted(key: string, { body }: ApiResponse): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.#add(key, { receivedBytes: chunk.length });
      yield chunk;
    }
  }

  #add(key: string, more: Partial<TrafficCount>): void {
    this.#counts.set(key, sum(this.#counts.get(key) ?? nothing, { ...nothing, ...more }));
  }
}

export function trafficBetween(before: TrafficReading, after: TrafficReading): TrafficReading {
  return Object.fromEntries(
    Object.entries(after)
      .map(([key, count]) => [key, sum(count, before[key] ?? nothing, -1)] as const)
      .filter(([, { requests, receivedBytes }]) => requests > 0 || receivedBytes > 0),
  );
}

/** Several clients' as one. */
export function trafficOfAll(readings: readonly TrafficReading[]): TrafficReading {
  const all = new Map<string, TrafficCount>();
  for (const reading of readings) {
    for (const [key, count] of Object.entries(reading)) all.set(key, sum(all.get(key) ?? nothing, count));
  }
  return Object.fromEntries(all);
}

export function totalTraffic(reading: TrafficReading): TrafficCount {
  return Object.values(reading).reduce((all, each) => sum(all, each), nothing);
}

function sum(a: TrafficCount, b: TrafficCount, sign: 1 | -1 = 1): TrafficCount {
  return {
    requests: a.requests + sign * b.requests,
    sentBytes: a.sentBytes + sign * b.sentBytes,
    receivedBytes: a.receivedBytes + sign * b.receivedBytes,
    failed: a.failed + sign * b.failed,
  };
}

const paths = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/(?=[^/?]))?([^/?]+)/;

function keyOf({ method, path }: ApiRequest): string {
  const verb = /[?&]watch=(?:true|1)(?:&|$)/.test(path) ? "WATCH" : method;
  return `${verb} ${paths.exec(path)?.[1] ?? "other"}`;
}

function sizeOf(body: ApiRequest["body"]): number {
  if (body === undefined) return 0;
  return typeof body === "string" ? Buffer.byteLength(body) : body.length;
}
