// A number of things in a sentence: `1 slice`, `2 slices`.

export function count(number: number, noun: string): string {
  if (number === 1) return `1 ${noun}`;
  return `${number} ${noun}${noun.endsWith("s") ? "es" : "s"}`;
}
