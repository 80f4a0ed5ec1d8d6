// One TCP connection to an echo server, in the network namespace that it is started in: a number every few ms, and when
// each came back. `node tcp-probe-process.ts HOST PORT PERIOD_MS`; says "ready" at the first echo, and ends with its
// report, as JSON, after its input has: then it sends no more and waits for what is on its way.
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

import { Arrivals, type Gap } from "./arrivals.ts";

export interface TcpReport {
  readonly sent: number;
  readonly answered: number;
  readonly gaps: readonly Gap[];
  /** Why the connection ended, or what came back that was not sent; undefined where it lives. */
  readonly lost?: string;
}

/** Linux retransmits at 200 ms, 400 ms, ...: a connection whose way is back is heard of within a minute. */
const drainMs = 60_000;

const [host = "", port = "", period = ""] = process.argv.slice(2);
const periodMs = Number(period);
const arrivals = new Arrivals();
const now = () => performance.timeOrigin + performance.now();
/** What the socket and the input tell the loops below. */
const heard: { lost?: string; isOver: boolean } = { isOver: false };
let sent = 0;
let rest = "";

const socket = connect({ host, port: Number(port), noDelay: true });
socket.setEncoding("latin1");
socket.on("data", (text: string) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop()!;
  for (const line of lines) {
    if (line !== String(arrivals.count)) heard.lost ??= `${line} came back in the place of ${arrivals.count}`;
    if (arrivals.count === 0) console.log("ready");
    arrivals.add(now());
  }
});
socket.on("error", (error) => (heard.lost ??= error.message));
socket.on("close", () => (heard.lost ??= "the other side closed it"));
process.stdin.on("end", () => (heard.isOver = true)).resume();

const startMs = performance.now();
for (let round = 0; !heard.isOver && heard.lost === undefined; round++) {
  if (!socket.connecting) socket.write(`${sent++}\n`);
  await pause(Math.max(0, startMs + (round + 1) * periodMs - performance.now()));
}
const endMs = now();
while (arrivals.count < sent && heard.lost === undefined && now() < endMs + drainMs) await pause(periodMs);
if (arrivals.count < sent) {
  arrivals.end(now());
  heard.lost ??= `${sent - arrivals.count} of ${sent} did not come back`;
}
const { lost } = heard;
const report: TcpReport = { sent, answered: arrivals.count, gaps: arrivals.gaps, ...(lost !== undefined && { lost }) };
console.log(JSON.stringify(report));
process.exit();
