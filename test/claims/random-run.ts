// One random run: things that users do and that go wrong, in a cluster of its own; the checker judges every change.
import type { Transport } from "../../src/kube/transport/transport.ts";
import type { Change } from "./checker-record.ts";
import { Checker } from "./checker.ts";
import { Actor, waiting } from "./random-actor.ts";
import { Faults } from "./random-faults.ts";
import { RandomFixture } from "./random-fixture.ts";
import { Gate } from "./random-gate.ts";
import { leftOver, untold } from "./random-rest.ts";
import { Chance } from "./random-source.ts";
import { Stake } from "./random-stake.ts";

export interface RunOptions {
  readonly transport: Transport;
  /** The way of one of its parts to the server. Default: the transport itself. */
  readonly lineOf?: (who: string) => Transport;
  readonly seed: number;
  readonly steps: number;
  /** Which world of its server it is. */
  readonly number: number;
  readonly compact?: () => void;
  /** Who does nothing: names of users, or "faults". They are there all the same, so that the others' choices stay. */
  readonly without?: readonly string[];
  /** So long everybody has at the end to come to rest. */
  readonly patienceMs?: number;
}

export interface Verdict {
  /** What was done, how often. */
  readonly done: ReadonlyMap<string, number>;
  /** Why ADDs were refused, how often. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly steps: number;
  readonly changes: readonly Change[];
  /** What must not be, in sentences; none: all is well. */
  readonly faults: readonly string[];
}

const actorCount = 10;
const stakeCount = 2;
const disturber = "faults";
/** Everybody, in the order of their making. */
export const users: readonly string[] = [
  ...Array.from({ length: actorCount }, (_, index) => `vm-${index}`),
  ...Array.from({ length: stakeCount }, (_, index) => `stake-${index}`),
  disturber,
];
/** Of a hundred steps, so many are something going wrong. */
const faultShare = 8;
/** A start that waits for a claim is answered 11 after 25 s and tried again; a busy machine takes ten times longer. */
const defaultPatienceMs = 240_000;

export async function run(options: RunOptions): Promise<Verdict> {
  const { transport, lineOf, seed, steps, number, compact, without = [], patienceMs = defaultPatienceMs } = options;
  const chance = new Chance(seed);
  const fixture = await RandomFixture.open({
    transport,
    ...(lineOf && { lineOf }),
    chance,
    name: `w${number}`,
    number,
  });
  const gate = new Gate();
  const actors = makeActors(fixture, chance);
  const stakes = makeStakes(fixture, chance);
  const faults = new Faults({ fixture, chance: chance.branch(), actors, gate, compact });
  const tally = new Tally(steps);
  try {
    const busy = [...actors, ...stakes].filter((_, index) => !without.includes(users[index]!));
    const works = busy.map((each) => tally.spend(() => gate.with(() => each.step())));
    const disturbed = without.includes(disturber) || busy.length === 0 ? [] : [tally.disturb(() => faults.step())];
    await Promise.all([...works, ...disturbed]);
    await faults.end();
    for (const actor of actors) await actor.settle(patienceMs);
    const rest = { client: fixture.admin, timeoutMs: patienceMs };
    const dumb = await untold(
      actors.flatMap(({ machine }) => machine ?? []),
      rest,
    );
    for (const each of [...actors, ...stakes]) await each.end();
    await fixture.kubevirt.virt.kubelet.settle();
    const left = await leftOver(rest);
    const changes = await fixture.record.whole();
    const checker = new Checker();
    for (const change of changes) checker.see(change);
    const broken = checker.violations.map(({ message }) => message);
    const errors = [...actors, ...stakes].flatMap((each) => each.errors.map(String));
    const found = [...broken, ...dumb, ...left, ...checker.remains(), ...errors];
    return { done: tally.done, refusals: fixture.nodes.refusals, steps: tally.steps, changes, faults: found };
  } finally {
    await fixture.close();
  }
}

function makeActors(fixture: RandomFixture, chance: Chance): Actor[] {
  let macs = 0;
  const freshMac = () => `02:00:00:00:${hex((macs += 1) >> 8)}:${hex(macs & 255)}`;
  return Array.from({ length: actorCount }, (_, index) => {
    const namespace = fixture.namespaces[index % 2] ?? "";
    const shared = fixture.definitions.map((each) =>
      each.namespace === namespace ? each.name : `${each.namespace}/${each.name}`,
    );
    // Two of them read like one with a network's name behind it.
    const name = index % 4 === 2 ? `vm.${index}` : `vm-${index}`;
    const { admin: client, kubevirt } = fixture;
    return new Actor({ client, kubevirt, chance: chance.branch(), namespace, name, definitions: shared, freshMac });
  });
}

function makeStakes(fixture: RandomFixture, chance: Chance): Stake[] {
  return fixture.definitions.slice(0, stakeCount).map(({ namespace, name: definition, network }) => {
    const { admin: client, kubevirt } = fixture;
    const nodes = () => fixture.nodes.ready.map(({ name }) => name);
    const common = { client, kubelet: kubevirt.virt.kubelet, chance: chance.branch(), nodes };
    return new Stake({ ...common, namespace, name: "stake", definition, network });
  });
}

const hex = (byte: number) => (byte & 255).toString(16).padStart(2, "0");

/** How many steps are left for all together. */
class Tally {
  readonly done = new Map<string, number>();
  steps = 0;
  readonly #most: number;
  #disturbances = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async spend(step: () => Promise<string>): Promise<void> {
    while (this.steps < this.#most) {
      const what = await step();
      if (what !== waiting) this.steps += 1;
      this.#note(what);
    }
  }

  /** At its share of all steps. */
  async disturb(step: () => Promise<string>): Promise<void> {
    while (this.steps < this.#most) {
      if (this.#disturbances * 100 < this.steps * faultShare) {
        this.steps += 1;
        this.#disturbances += 1;
        this.#note(await step());
      } else await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  #note(what: string): void {
    this.done.set(what, (this.done.get(what) ?? 0) + 1);
  }
}
