// Work on very many things, cut into turns of the event loop: whoever renews a Lease comes to its turn in between.

/** Things in one turn: some ms of cheap ones, 50 ms of the dearest. */
const perTurn = 500;

export class Turns {
  #count = 0;

  /** Once for each thing. True: it is another's turn. */
  isDue(): boolean {
    this.#count = (this.#count + 1) % perTurn;
    return this.#count === 0;
  }

  readonly next = nextTurn;
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
