// Somebody who speaks with the guest all the time: by one TCP connection, or by pings, each every 10 ms.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { dyingWithParent } from "../place.ts";
import { Arrivals } from "./arrivals.ts";
import { echoPort } from "./guest.ts";
import type { Namespace } from "./namespace.ts";
import type { TcpReport } from "./tcp-probe-process.ts";

type ProbeKind = "tcp" | "icmp";

export interface ProbePlan {
  /** Whose it is, as reports say: `a1`. */
  readonly name: string;
  readonly from: Namespace;
  /** With whom it speaks, as reports say: `vm1`. */
  readonly to: string;
  readonly kind: ProbeKind;
  readonly address: string;
  /** It is to be kept out: nobody waits for its first answer. Of pings alone. */
  readonly isKeptOut?: true;
  /** Of an echo server; the guest's own otherwise. */
  readonly port?: number;
}

export interface ProbeReport extends TcpReport {
  readonly name: string;
  readonly to: string;
  readonly kind: ProbeKind;
  /** Between its first answer and its last, what was not answered: packets, since TCP sends again. */
  readonly missed: number;
  /** Since the last answer, when it was ended. */
  readonly silentAtEndMs: number;
}

const periodMs = 10;
/** A first packet waits for neighbours and for OVN's flows. */
const readyTimeoutMs = 60_000;

/** `[1763495000.123456] 24 bytes from 10.244.0.8: icmp_seq=7 ttl=63 time=0.412 ms` */
const answer = /^\[(\d+\.\d+)\] \d+ bytes from .*icmp_seq=(\d+) .*time=/;
const sum = /^(\d+) packets transmitted, (\d+) received/;

export class Probe {
  readonly plan: ProbePlan;
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #arrivals = new Arrivals();
  /** Of pings: which were answered. Ten minutes of them are 60,000, before the number begins anew. */
  readonly #numbers = new Set<number>();
  #sent = 0;
  #report: TcpReport | undefined;
  #words = "";

  private constructor(plan: ProbePlan) {
    this.plan = plan;
    const own = plan.kind === "tcp" ? tcpCommand(plan) : pingCommand(plan);
    const [program = "", ...args] = dyingWithParent(plan.from.place.wrap(own));
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#closed = once(this.#child, "close");
    this.#closed.catch(() => {}); // told where it is waited for
    this.#child.stdin!.on("error", () => {});
    this.#child.stderr!.on("data", (text) => (this.#words = (this.#words + String(text)).slice(-4000)));
  }

  /** Resolves at the first answer, where there is to be one. */
  static async start(plan: ProbePlan): Promise<Probe> {
    const probe = new Probe(plan);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const why = (what: string) => new Error(`${what} (${plan.kind} from ${plan.name}): ${probe.#words}`);
    const timer = setTimeout(() => reject(why(`${plan.address} did not answer`)), readyTimeoutMs);
    const lines = createInterface({ input: probe.#child.stdout! });
    lines.on("error", () => {}); // the end of the child says it, too
    lines.on("line", (line) => probe.#hear(line, resolve));
    probe.#closed.then(() => reject(why("the probe ended")), reject);
    if (plan.isKeptOut) resolve();
    try {
      await promise;
      return probe;
    } catch (error) {
      probe.#child.kill("SIGKILL");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** When a ping was answered last; connections tell at their end. */
  get heardMs(): number {
    return this.#arrivals.lastMs;
  }

  /** Ends it; a connection whose last words are still on their way is waited for. */
  async end(): Promise<ProbeReport> {
    const { name, to, kind } = this.plan;
    const endMs = Date.now();
    if (kind === "icmp") this.#child.kill("SIGINT");
    this.#child.stdin!.end();
    await this.#closed;
    const own = kind === "tcp" ? this.#report : this.#pinged();
    if (own === undefined) throw new Error(`the ${kind} probe of ${name} ended without a report: ${this.#words}`);
    const silentAtEndMs = kind === "icmp" ? Math.max(0, endMs - this.#arrivals.lastMs) : 0;
    return { name, to, kind, missed: kind === "icmp" ? missedOf(this.#numbers) : 0, silentAtEndMs, ...own };
  }

  #pinged(): TcpReport {
    return { sent: this.#sent, answered: this.#arrivals.count, gaps: this.#arrivals.gaps };
  }

  #hear(line: string, ready: () => void): void {
    if (this.plan.kind === "tcp") {
      if (line === "ready") return ready();
      this.#report = JSON.parse(line) as TcpReport;
      return;
    }
    const [, atSeconds, number] = answer.exec(line) ?? [];
    if (atSeconds !== undefined) {
      this.#numbers.add(Number(number));
      this.#arrivals.add(Number(atSeconds) * 1000);
      ready();
    }
    const [, sent] = sum.exec(line) ?? [];
    if (sent === undefined) return;
    this.#sent = Number(sent);
    this.#arrivals.end(Date.now());
  }
}

const tcpCommand = ({ address, port = echoPort }: ProbePlan) => [
  process.execPath,
  fileURLToPath(new URL("./tcp-probe-process.ts", import.meta.url)),
  address,
  `${port}`,
  `${periodMs}`,
];
const pingCommand = ({ address }: ProbePlan) => ["ping", "-n", "-D", "-s", "16", "-i", `${periodMs / 1000}`, address];

function missedOf(numbers: ReadonlySet<number>): number {
  let [first, last] = [Infinity, -Infinity];
  for (const each of numbers) [first, last] = [Math.min(first, each), Math.max(last, each)];
  return numbers.size === 0 ? 0 : last - first + 1 - numbers.size;
}
