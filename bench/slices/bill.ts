// What a cluster of daemons, their controller and the API server cost between two moments.
import { rounded } from "../cni/figures.ts";
import type { BenchLab } from "../cni/lab.ts";
import { totalTraffic, trafficBetween } from "../cni/traffic.ts";
import type { Costs } from "./growth.ts";
import type { Hosts, HostsUsage } from "./hosts.ts";
import type { KeptController } from "./kept-controller.ts";
import { type Usage, usageOf } from "./usage.ts";

export interface BillReading {
  readonly atMs: number;
  readonly daemons: HostsUsage;
  readonly controller: Usage;
  /** Calls of the controller by its own count. Key: method and status. */
  readonly controllerCalls: Readonly<Record<string, number>>;
  readonly apiserver: Usage;
  readonly etcd: Usage;
}

const mebibyte = 2 ** 20;

export class Bill {
  readonly #lab: BenchLab;
  readonly #controller: KeptController;
  readonly #hosts: Hosts;

  constructor(lab: BenchLab, controller: KeptController, hosts: Hosts) {
    this.#lab = lab;
    this.#controller = controller;
    this.#hosts = hosts;
  }

  async reading({ collect = false } = {}): Promise<BillReading> {
    const { apiserver, etcd } = this.#lab.cluster;
    const daemons = await this.#hosts.usage(collect);
    return {
      atMs: performance.now(),
      daemons,
      controller: usageOf(this.#controller.pid),
      controllerCalls: readCalls(await this.#controllerMetrics()),
      apiserver: usageOf(apiserver.pid ?? 0),
      etcd: usageOf(etcd.pid ?? 0),
    };
  }

  /** What grows with the nodes, for both moments' difference. */
  costs(before: BillReading, after: BillReading): Costs {
    const daemons = totalTraffic(trafficBetween(before.daemons.traffic, after.daemons.traffic));
    const calls = (reading: BillReading) => Object.values(reading.controllerCalls).reduce((sum, each) => sum + each, 0);
    return {
      daemonRequests: daemons.requests,
      daemonKiB: rounded((daemons.sentBytes + daemons.receivedBytes) / 1024, 0),
      daemonCpuMs: rounded(after.daemons.cpuMs - before.daemons.cpuMs, 0),
      controllerRequests: calls(after) - calls(before),
      controllerKiB: rounded((bytesOf(after.controller) - bytesOf(before.controller)) / 1024, 0),
      controllerCpuMs: after.controller.cpuMs - before.controller.cpuMs,
      apiserverCpuMs: after.apiserver.cpuMs - before.apiserver.cpuMs,
      etcdCpuMs: after.etcd.cpuMs - before.etcd.cpuMs,
    };
  }

  /** Requests by kind. */
  daemonRequests(before: BillReading, after: BillReading): Record<string, number> {
    const traffic = trafficBetween(before.daemons.traffic, after.daemons.traffic);
    return Object.fromEntries(Object.entries(traffic).map(([kind, { requests }]) => [kind, requests]));
  }

  /** Requests by method and status. */
  controllerRequests(before: BillReading, after: BillReading): Record<string, number> {
    const counts = Object.entries(after.controllerCalls)
      .map(([key, count]) => [key, count - (before.controllerCalls[key] ?? 0)] as const)
      .filter(([, count]) => count > 0);
    return Object.fromEntries(counts);
  }

  /** At the moment of the reading; `Peak`: the most so far. */
  memory({ daemons, controller, apiserver, etcd }: BillReading): Record<string, number> {
    const mib = (bytes: number) => rounded(bytes / mebibyte, 0);
    return {
      daemons: mib(daemons.rssBytes),
      daemonsHeap: mib(daemons.heapBytes),
      controller: mib(controller.rssBytes),
      controllerPeak: mib(controller.peakRssBytes),
      apiserver: mib(apiserver.rssBytes),
      apiserverPeak: mib(apiserver.peakRssBytes),
      etcd: mib(etcd.rssBytes),
    };
  }

  async #controllerMetrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#controller.metricsPort}/metrics`)).text();
  }
}

const bytesOf = ({ readBytes, writtenBytes }: Usage) => readBytes + writtenBytes;

const call = /^rest_client_requests_total\{method="(\w+)",code="(\d+)"\} (\d+)$/gm;

/** Reads the controller's metrics in Prometheus' text form. */
export function readCalls(text: string): Record<string, number> {
  return Object.fromEntries(
    Array.from(text.matchAll(call), ([, method = "", code = "", count = ""]) => [`${method} ${code}`, Number(count)]),
  );
}
