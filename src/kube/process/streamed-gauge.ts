// A gauge of very many series, which are made while they are read and not kept: 100,000 of them cost prom-client 80 MB
// once somebody scrapes, and the answer was one text of 15 MB. Promised: the same text as any other gauge of the
// registry, line by line. Not promised: one moment for all of them; what changes meanwhile is told as it is then.
import { Gauge, type Registry } from "prom-client";

export interface Sample<L extends string> {
  readonly labels: Readonly<Record<L, string>>;
  readonly value: number;
}

export interface StreamedGaugeOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly registry: Registry;
  /** Asked for at each scrape. No two with the same labels. */
  readonly samples: () => Iterable<Sample<L>>;
}

export class StreamedGauge<L extends string = string> extends Gauge {
  readonly #name: string;
  readonly #help: string;
  readonly #samples: () => Iterable<Sample<L>>;

  constructor({ name, help, registry, samples }: StreamedGaugeOptions<L>) {
    super({ name, help, registers: [registry] });
    this.#name = name;
    this.#help = help;
    this.#samples = samples;
  }

  /** For readers of the registry that want all at once. */
  override async get(): ReturnType<Gauge["get"]> {
    const values = Array.from(this.#samples(), ({ labels, value }) => ({ labels: { ...labels }, value }));
    return { ...(await super.get()), name: this.#name, help: this.#help, values };
  }

  *lines(): Iterable<string> {
    yield `# HELP ${this.#name} ${escaped(this.#help)}\n# TYPE ${this.#name} gauge\n`;
    for (const { labels, value } of this.#samples()) {
      const pairs = Object.entries<string>(labels).map(([label, text]) => `${label}="${escaped(text, true)}"`);
      yield `${this.#name}{${pairs.join(",")}} ${value}\n`;
    }
  }
}

/** As the text format wants it: in values of labels quotes too. */
function escaped(text: string, isLabel = false): string {
  if (!/[\\\n"]/.test(text)) return text;
  const lines = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return isLabel ? lines.replaceAll('"', '\\"') : lines;
}
