// The event of an address that was given before its rest was over: the only word that a range is too small before it is full.
import type { Addition } from "./add.ts";
import type { Taken } from "./take.ts";

export function tellEarly(
  { parts, pod, invocation }: Pick<Addition, "parts" | "pod" | "invocation">,
  { hold }: Taken,
): void {
  if (pod === undefined) return;
  const words = `${invocation.interfaceName} got ${hold.address} before its rest was over: its range has nothing else left. Widen it.`;
  parts.tell(pod.object, "Normal", "AddressGivenEarly", words);
}
