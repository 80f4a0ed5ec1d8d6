// DHCP exchanges (DORA) a second below 1 % loss, by perfdhcp as a relay of 10,000 reserved clients: ours, Kea, dnsmasq
import { ensureDebianPackages } from "../tools/bootstrap/debian.ts";
import { Ground } from "./dhcp/ground.ts";
import { type Contestant, dnsmasq, floor, kea, ours, oursByUdp } from "./dhcp/peers.ts";
import { perfdhcp } from "./dhcp/perfdhcp.ts";
import { highestRate } from "./dhcp/search.ts";
import { close } from "./measure.ts";

interface Measures {
  readonly exchangesPerSecond: number;
  /** Of the server's process, at the highest rate. */
  readonly cpuMicrosPerExchange: number;
  /** At a rate that all of them carry. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rssMiB: number;
}

/** dnsmasq's own lease file keeps it from more on a slow machine. */
const latencyRate = 500;
const search = { startRate: 1000, rateMax: 128_000, precision: 0.06, droppedMax: 0.01 } as const;
const runSeconds = 3;

async function measure(contestant: Contestant): Promise<Measures> {
  const ground = new Ground();
  try {
    const server = await ground.start(contestant);
    try {
      const { delaysMs } = await perfdhcp(ground.load, { rate: latencyRate, seconds: 4, withTimes: true });
      let cpuMicrosPerExchange = 0;
      const best = await highestRate({
        ...search,
        run: async (rate) => {
          const before = server.usage();
          const result = await perfdhcp(ground.load, { rate, seconds: runSeconds });
          const cpuMs = server.usage().cpuMs - before.cpuMs;
          const cpu = (1000 * cpuMs) / Math.max(1, result.sent);
          if (result.dropped < search.droppedMax) cpuMicrosPerExchange = cpu;
          const words = `${result.rate.toFixed(0)}/s, ${(100 * result.dropped).toFixed(2)} % lost, ${cpu.toFixed(1)} us of CPU each, perfdhcp ${((1000 * result.generatorCpuMs) / Math.max(1, result.sent)).toFixed(1)} us`;
          console.log(`  ${contestant.name.padEnd(16)} asked ${String(rate).padStart(6)}/s: ${words}`);
          return result;
        },
      });
      const sorted = [...delaysMs].sort((a, b) => a - b);
      const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
      return {
        exchangesPerSecond: best?.rate ?? 0,
        cpuMicrosPerExchange,
        p50Ms: at(0.5),
        p99Ms: at(0.99),
        rssMiB: server.usage().rssMiB,
      };
    } finally {
      await server.stop();
    }
  } finally {
    await ground.remove();
  }
}

if (process.getuid?.() !== 0) throw new Error("it makes namespaces: run it as root");
const { reason } = ensureDebianPackages(
  ["iproute2", "kea-admin", "kea-dhcp4-server", "dnsmasq-base", "gcc", "libc6-dev"],
  (line) => console.log(line),
);
if (reason !== undefined) throw new Error(reason);

const only = process.argv.slice(2);
const contestants = [floor, ours, oursByUdp, kea, dnsmasq].filter(
  ({ name }) => only.length === 0 || only.includes(name),
);
const results = new Map<string, Measures>();
for (const contestant of contestants) results.set(contestant.name, await measure(contestant));
for (const [name, { exchangesPerSecond, cpuMicrosPerExchange, p50Ms, p99Ms, rssMiB }] of results) {
  const rate = `${exchangesPerSecond.toFixed(0).padStart(7)} DORA/s   ${cpuMicrosPerExchange.toFixed(1).padStart(6)} us of CPU each`;
  const delay = `at ${latencyRate}/s p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
  console.log(`${name.padEnd(16)} ${rate}   ${delay}   RSS ${rssMiB.toFixed(0)} MiB`);
}

const rounded = (value: number) => Number(value.toFixed(2));
const of = (name: string) => results.get(name);
const [mine, theirs] = [of(ours.name), of(kea.name)];
close({
  bench: "dhcp",
  ours: rounded(mine?.exchangesPerSecond ?? 0),
  peer: theirs === undefined ? null : rounded(theirs.exchangesPerSecond),
  ratio:
    theirs === undefined || mine === undefined ? null : rounded(mine.exchangesPerSecond / theirs.exchangesPerSecond),
  unit: "DORA/s below 1 % loss, relayed, 10,000 reserved clients; the peer is Kea",
  servers: Object.fromEntries(
    [...results].map(([name, measures]) => [
      name,
      Object.fromEntries(Object.entries(measures).map(([key, value]) => [key, rounded(value as number)])),
    ]),
  ),
});
