// Numbers of things in sentences.

/** `1 slice`, `2 slices`, `0 addresses`, `3 entries`. `many` is given where more than the noun bends. */
export function counted(number: number | bigint, one: string, many = plural(one)): string {
  return `${number} ${Number(number) === 1 ? one : many}`;
}

function plural(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return noun.endsWith("s") ? `${noun}es` : `${noun}s`;
}
