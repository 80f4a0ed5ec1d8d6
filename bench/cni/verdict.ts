// Whether what was handed out is right: no address twice, and the API server's objects say the same as the answers did.
//
// On purpose without the code that is measured: names of objects are put together here by hand.

/** What one attachment was answered. */
export interface Given {
  readonly network: string;
  /** namespace/name of the pod. */
  readonly pod: string;
  readonly interface: string;
  readonly address: string;
}

/** The object behind an address, as far as it is compared. */
export interface Reserved {
  readonly name: string;
  readonly podref: string;
  readonly interface: string;
}

export interface Verdict {
  /** Sentences; empty is right. */
  readonly duplicates: readonly string[];
  /** Answered, but no object says so. */
  readonly unrecorded: readonly string[];
  /** An object of an attachment that was never answered with it. */
  readonly leaked: readonly string[];
}

export function judgeGiven(given: readonly Given[], reserved: readonly Reserved[]): Verdict {
  const duplicates: string[] = [];
  const unrecorded: string[] = [];
  /** Name of the object -> who was answered it. */
  const answered = new Map<string, Given>();
  const objects = new Map(reserved.map((each) => [each.name, each]));
  for (const each of given) {
    const name = each.network === "" ? each.address : `${each.network}-${each.address}`;
    const other = answered.get(name);
    if (other !== undefined) duplicates.push(`${name} was given to ${who(other)} and to ${who(each)}`);
    answered.set(name, each);
    const object = objects.get(name);
    if (object?.podref !== each.pod || object.interface !== each.interface) {
      unrecorded.push(`${name} was given to ${who(each)}, and its object says ${object?.podref ?? "nothing"}`);
    }
  }
  const leaked = reserved
    .filter(({ name }) => !answered.has(name))
    .map(({ name, podref }) => `${name} is held for ${podref}, which was not answered it`);
  return { duplicates, unrecorded, leaked };
}

function who({ pod, interface: name }: Given): string {
  return `${pod} ${name}`;
}
