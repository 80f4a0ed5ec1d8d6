// Metrics of prom-client, each made in a line: its name, what it says, its labels.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export type Sample<L extends string> = readonly [labels: Readonly<Record<L, string>>, value: number];

export function measuresIn(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter<L>({ name, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Gauge<L>({ name, help, labelNames, registers }),
    seconds: <L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]) =>
      new Histogram<L>({ name, help, labelNames, registers, buckets }),
    /** Asked at each scrape: what `samples` gives then is all there is. One of its name from before ends. */
    asked: <L extends string>(name: string, help: string, labelNames: L[], samples: () => Iterable<Sample<L>>) => {
      registry.removeSingleMetric(name); // of a daemon that ran before in this process
      return new Gauge<L>({
        name,
        help,
        labelNames,
        registers,
        collect() {
          this.reset();
          for (const [labels, value] of samples()) this.set(labels, value);
        },
      });
    },
  };
}
