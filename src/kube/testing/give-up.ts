// A process for one test: gives up writes while their bodies are on the way out, on connections that another call keeps
// open; then prints "alive": its event loop turns. The server never answers `/held`, and never reads `/unread`.
import { setTimeout as sleep } from "node:timers/promises";

import { unrefClock } from "../clock.ts";
import { networkTransport } from "../transport/network.ts";

const [server = ""] = process.argv.slice(2);
await using network = networkTransport(server, { insecure: true }, unrefClock);
const { transport } = network;
const write = { method: "POST", path: "/", headers: {}, body: "x".repeat(1000) };
for (let turns = 0; turns < 20; turns++) {
  await transport(write);
  transport({ method: "GET", path: "/held", headers: {} }).catch(() => {});
  const givenUp = new AbortController();
  const { signal } = givenUp;
  const calls = Array.from({ length: 5 }, () => transport({ ...write, signal }));
  const large = { ...write, path: "/unread", body: "x".repeat(1_000_000), signal };
  calls.push(transport(large), transport(large));
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
  givenUp.abort(new Error("given up"));
  await Promise.allSettled(calls);
  await sleep(10);
}
process.stdout.write("alive\n");
