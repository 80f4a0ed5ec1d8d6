// A free TCP port on loopback, for programs that cannot be told to take any.
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the range from which the kernel picks outgoing ports (32768 and up): nobody takes it by accident. */
const lowest = 20_000;
const highest = 32_000;
/** With 12,000 ports of which a few hundred are taken at the very most, 50 tries fail once in 10^70. */
const tries = 50;

/** Free at this moment. Another process may take it before its user does: whoever uses it tries again on a conflict. */
export async function freePort(): Promise<number> {
  for (let round = 0; round < tries; round++) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${lowest} and ${highest} on 127.0.0.1`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
