// A network that is used up, VM by VM: what it gives shows what it does not.
import { until } from "../../lab/wait.ts";
import { addressesOf } from "./sight.ts";
import type { StoryWorld } from "./world.ts";

/** Without their lengths. */
export const bare = (given: readonly string[]): string[] => given.map((each) => each.split("/")[0]!);

/** One NIC, blue, on this definition. */
export const on = (definition: string) => ({ nics: [{ name: "blue", definition }] });

/** Starts VMs until the network has nothing left, and says what they got. The last one is refused, and is deleted. */
export async function drain(world: StoryWorld, definition: string): Promise<string[]> {
  const given: string[] = [];
  for (let index = 0; ; index++) {
    const count = world.refusals.length;
    const machine = await world.machine(`drain-${index}`, on(definition));
    const starting = world.kubevirt.start(machine);
    const isOver = until(async () => world.refusals.length > count, { what: "a refusal" }).then(() => false);
    if (await Promise.race([starting, isOver])) given.push(...addressesOf(machine));
    else {
      await world.kubevirt.delete(machine);
      return bare(given);
    }
    isOver.catch(() => {});
  }
}
