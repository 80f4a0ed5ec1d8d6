// Which UIDs are one owner: a VM and the VMIs that ran under it. A VMI that a second VM adopts makes the two VMs one
// owner: its guest, and so its addresses, went from the one to the other. Union-find; nothing is ever parted.
export class Families {
  /** UID -> a UID nearer to the family's. */
  readonly #parents = new Map<string, string>();

  of(uid: string): string {
    let root = uid;
    for (let next = this.#parents.get(root); next !== undefined; next = this.#parents.get(root)) root = next;
    return root;
  }

  join(a: string, b: string): void {
    const [first, second] = [this.of(a), this.of(b)];
    if (first !== second) this.#parents.set(first, second);
  }
}
