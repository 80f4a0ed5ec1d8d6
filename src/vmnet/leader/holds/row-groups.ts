// Rows by namespace and name. Most names have one row or a few: no set is made for those.

/** A row, or several. */
type Group = number | number[];

export class RowGroups {
  /** Namespace -> name -> rows. In two steps, so that keys are texts that others have already. */
  readonly #names = new Map<string, Map<string, Group>>();

  get(namespace: string, name: string): readonly number[] {
    const group = this.#names.get(namespace)?.get(name);
    return group === undefined ? [] : typeof group === "number" ? [group] : group;
  }

  /** Once for each row. */
  add(namespace: string, name: string, row: number): void {
    const names = this.#names.get(namespace) ?? new Map<string, Group>();
    this.#names.set(namespace, names);
    const group = names.get(name);
    if (Array.isArray(group)) group.push(row);
    else names.set(name, group === undefined ? row : [group, row]);
  }

  delete(namespace: string, name: string, row: number): void {
    const names = this.#names.get(namespace);
    const group = names?.get(name);
    if (names === undefined || group === undefined) return;
    if (Array.isArray(group)) {
      const at = group.indexOf(row);
      if (at < 0) return;
      const last = group.pop()!;
      if (at < group.length) group[at] = last;
    }
    if (group === row || (Array.isArray(group) && group.length === 0)) names.delete(name);
    if (names.size === 0) this.#names.delete(namespace);
  }
}
