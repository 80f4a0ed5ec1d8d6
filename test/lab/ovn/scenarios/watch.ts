// Everybody who speaks with VMs while something happens, and what became of it.
import { setTimeout as pause } from "node:timers/promises";

import { until } from "../../wait.ts";
import type { PlayedVm } from "../cluster/played-vm.ts";
import type { OvnGuest } from "../guest.ts";
import type { Migration } from "../migration.ts";
import type { Namespace } from "../namespace.ts";
import type { OvnPod } from "../pod.ts";
import { Probe, type ProbePlan, type ProbeReport } from "../probe.ts";
import type { GuestView, Told } from "./scenario.ts";

/** Steady answers before anything happens, so that what is missing afterwards is its doing. */
const steadyMs = 1000;
/** What goes wrong after a move goes wrong in this time: neighbours, and flows that come late. */
const afterMs = 2000;

export interface WatchPlan {
  /** Those to which something happens. */
  readonly vms: readonly PlayedVm[];
  /** On every node one: they speak with the VMs. As bystanders each pings the next. */
  readonly pods: readonly OvnPod[];
  /** Pods that must not have an answer from the VMs. */
  readonly strangers?: readonly OvnPod[];
  /** The world outside, where it can reach VMs by their own addresses. */
  readonly outside: Namespace | undefined;
  /** A VM to which nothing happens: the first pod, the last and the world outside speak with it. */
  readonly stayer: PlayedVm | undefined;
  readonly signal: AbortSignal;
}

export class Watch {
  readonly #plan: WatchPlan;
  readonly #before = new Map<PlayedVm, readonly string[]>();
  readonly #moves = new Map<string, Migration>();
  readonly #faults: string[] = [];
  #witnesses: readonly Probe[] = [];
  #bystanders: readonly Probe[] = [];
  #strangers: readonly Probe[] = [];

  constructor(plan: WatchPlan) {
    this.#plan = plan;
  }

  /** From here on everybody speaks; resolves after a second of it. */
  async begin(): Promise<void> {
    const { vms, stayer, signal } = this.#plan;
    for (const vm of this.#everyVm) this.#before.set(vm, await configuration(vm.guest));
    const pods = this.#plan.pods.map(placeOf);
    const witnesses = vms.flatMap((vm) => speakers([...pods, ...this.#outside], vm));
    this.#witnesses = await Promise.all(witnesses.map((plan) => Probe.start(plan)));
    if (stayer !== undefined)
      this.#bystanders = await Promise.all(this.#passing(stayer).map((plan) => Probe.start(plan)));
    this.#strangers = await Promise.all(this.#keptOut().map((plan) => Probe.start(plan)));
    await pause(steadyMs, undefined, { signal });
  }

  /** A move that is measured; the last one of each VM counts. */
  moved(vm: PlayedVm, migration: Migration): void {
    this.#moves.set(vm.name, migration);
  }

  /** Something that the scenario promises, and that is not so. */
  fault(sentence: string): void {
    this.#faults.push(sentence);
  }

  /** Resolves when every ping of a witness is answered again; one that is not is a fault. */
  async isHeard(): Promise<void> {
    const { signal } = this.#plan;
    const fromMs = Date.now();
    const hears = async (probe: Probe) => {
      const what = `${probe.plan.to} to answer ${probe.plan.name} again`;
      await until(async () => probe.heardMs > fromMs, { what, signal }).catch((error: Error) => {
        signal.throwIfAborted();
        this.fault(error.message);
      });
    };
    await Promise.all(this.#witnesses.filter(({ plan }) => plan.kind === "icmp").map(hears));
  }

  /** After two more seconds. */
  async end(): Promise<Told> {
    await pause(afterMs, undefined, { signal: this.#plan.signal });
    const reports = async (probes: readonly Probe[]): Promise<ProbeReport[]> =>
      await Promise.all(probes.map((probe) => probe.end()));
    const [probes, bystanders] = await Promise.all([reports(this.#witnesses), reports(this.#bystanders)]);
    for (const { name, to, answered } of await reports(this.#strangers))
      if (answered > 0) this.fault(`${to} answered ${name} ${answered} times, which is to be kept out`);
    const guests: GuestView[] = [];
    for (const vm of this.#everyVm) {
      const after = await configuration(vm.guest);
      guests.push({ vm: vm.name, before: this.#before.get(vm) ?? after, after, routes: vm.routes });
    }
    return { moves: this.#moves, probes, bystanders, guests, faults: this.#faults };
  }

  get #everyVm(): readonly PlayedVm[] {
    const { vms, stayer } = this.#plan;
    return stayer === undefined ? vms : [...vms, stayer];
  }

  get #outside(): Places {
    const { outside } = this.#plan;
    return outside === undefined ? [] : [["outside", outside]];
  }

  #keptOut(): readonly ProbePlan[] {
    const { vms, strangers = [] } = this.#plan;
    const plans = vms.flatMap((vm) => speakers(strangers.map(placeOf), vm));
    return plans.flatMap((plan) => (plan.kind === "icmp" ? [{ ...plan, isKeptOut: true }] : []));
  }

  #passing(stayer: PlayedVm): readonly ProbePlan[] {
    const { pods } = this.#plan;
    const ring = pods.flatMap((pod, at): ProbePlan[] => {
      const next = pods[(at + 1) % pods.length]!;
      const [name, from] = placeOf(pod);
      const addresses = next === pod ? [] : next.plan.addresses.map((each) => each.replace(/\/.*/, ""));
      return addresses.map((address) => ({ name, to: next.plan.name, from, kind: "icmp", address }));
    });
    const ends = [...new Set([pods[0]!, pods.at(-1)!])].map(placeOf);
    return [...ring, ...speakers([...ends, ...this.#outside], stayer)];
  }
}

type Places = readonly (readonly [name: string, from: Namespace])[];
const placeOf = ({ plan, namespace }: OvnPod): Places[number] => [plan.name, namespace];

/** One connection and pings from each, by each address of the VM. */
function speakers(places: Places, { name: to, addresses }: Pick<PlayedVm, "name" | "addresses">): ProbePlan[] {
  return places.flatMap(([name, from]) =>
    addresses.flatMap((address) => (["tcp", "icmp"] as const).map((kind) => ({ name, to, from, kind, address }))),
  );
}

/** Addresses and routes, as the guest itself sees them. */
async function configuration(guest: OvnGuest): Promise<string[]> {
  return [...(await guest.addresses()), ...(await guest.routes()), ...(await guest.routes6())];
}
