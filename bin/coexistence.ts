// `holdfast coexistence`, put together: a connection, the word, and what came of it.
import { hostname, userInfo } from "node:os";

import { awaitWord, readCoexistence, writeWord } from "../src/cli/coexistence-word.ts";
import type { Coexistence } from "../src/cli/coexistence.ts";
import { connected } from "../src/cli/connection.ts";
import { realClock as clock } from "../src/kube/clock.ts";

export const coexistence: Coexistence = {
  status: (options) => connected(options, (client, signal) => readCoexistence({ client, clock, signal }, options)),
  say: (request) =>
    connected(request, async (client, signal) => {
      const given = { client, clock, signal };
      const by = `${userInfo().username}@${hostname()} at ${new Date().toISOString()}`;
      const { word, namespace } = request;
      await writeWord(given, request.systemNamespace, { word, by, ...(namespace !== undefined && { namespace }) });
      return awaitWord(given, request);
    }),
};
