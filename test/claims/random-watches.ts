// Watches as a bad day makes them: they break between any two events, so that what happens meanwhile is never told one
// by one; and every stream is late by a time of its own, so that what was written in one order is heard in another.
// Within one stream the order stays, as the API promises.
import { setTimeout as pause } from "node:timers/promises";

import type { ApiResponse, Transport } from "../../src/kube/transport/transport.ts";
import type { Chance } from "./random-source.ts";

export interface Weather {
  /** Of a hundred parts of a stream, after how many it breaks. */
  breakPercent: number;
  /** The most by which a part of a stream comes late. */
  delayMs: number;
}

export function disturbed(transport: Transport, chance: Chance, weather: Weather): Transport {
  return async (request) => {
    const response = await transport(request);
    const isWatch = request.method === "GET" && /[?&]watch=true/.test(request.path);
    return isWatch ? { ...response, body: stormy(response, chance, weather) } : response;
  };
}

async function* stormy({ body }: ApiResponse, chance: Chance, weather: Weather): AsyncGenerator<Uint8Array> {
  for await (const part of body) {
    if (chance.percent(weather.breakPercent)) return;
    if (weather.delayMs > 0 && chance.percent(30)) await pause(chance.below(weather.delayMs));
    yield part;
  }
}
