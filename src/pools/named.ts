// A list in a sentence: the first few by name, the rest by number.

const namedMax = 10;

export function named(keys: readonly string[]): string {
  const more = keys.length - namedMax;
  return `${keys.slice(0, namedMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
