// Many may act at once, or one alone: what happens to a node happens to every VM on it.
export class Gate {
  #inside = 0;
  #closed: Promise<void> | undefined;
  #onEmpty: () => void = () => {};

  async with<T>(act: () => Promise<T>): Promise<T> {
    while (this.#closed !== undefined) await this.#closed;
    this.#inside += 1;
    try {
      return await act();
    } finally {
      this.#inside -= 1;
      if (this.#inside === 0) this.#onEmpty();
    }
  }

  async alone<T>(act: () => Promise<T>): Promise<T> {
    while (this.#closed !== undefined) await this.#closed;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed = promise;
    try {
      if (this.#inside > 0) await new Promise<void>((empty) => (this.#onEmpty = empty));
      return await act();
    } finally {
      this.#onEmpty = () => {};
      this.#closed = undefined;
      resolve();
    }
  }
}
