// A network that is used up, VM by VM: what it gives shows what it does not.
import { until } from "../../lab/wait.ts";
import type { StoryFixture } from "./fixture.ts";
import { addressesOf } from "./sight.ts";

/** Without their lengths. */
export const bare = (given: readonly string[]): string[] => given.map((each) => each.split("/")[0]!);

/** One NIC, blue, on this definition. */
export const on = (definition: string) => ({ nics: [{ name: "blue", definition }] });

/** Starts VMs until the network has nothing left, and says what they got. The last one is refused, and is deleted. */
export async function drain(fixture: StoryFixture, definition: string): Promise<string[]> {
  const given: string[] = [];
  for (let index = 0; ; index++) {
    const count = fixture.refusals.length;
    const machine = await fixture.machine(`drain-${index}`, on(definition));
    const starting = fixture.kubevirt.start(machine);
    const isOver = until(async () => fixture.refusals.length > count, { what: "a refusal" }).then(() => false);
    if (await Promise.race([starting, isOver])) given.push(...addressesOf(machine));
    else {
      await fixture.kubevirt.delete(machine);
      return bare(given);
    }
    isOver.catch(() => {});
  }
}
