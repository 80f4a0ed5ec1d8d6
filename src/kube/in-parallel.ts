// A few at once of many.

export async function inParallel<T>(most: number, items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: most }, worker));
}
