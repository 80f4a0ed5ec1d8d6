// A VM as the played virt-controller remembers it: the objects of its name, and the launcher pods of the VMI that runs.
import type { Launcher } from "./launcher.ts";
import type { Scheme } from "./names.ts";
import type { Nic } from "./objects.ts";

export interface MachineSpec {
  readonly namespace: string;
  readonly name: string;
  readonly nics: readonly Nic[];
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  /** Default: hashed. */
  readonly scheme?: Scheme;
}

/** A VMI. */
export interface Instance {
  readonly uid: string;
  /** Every pod that was made for it and whose object may be there, in the order of their making. */
  launchers: Launcher[];
  /** The one in which the guest is. */
  active: Launcher;
  /** Finished migrations, oldest first, with the pod that goes when theirs does. */
  finished: { readonly name: string; readonly pod: Launcher }[];
  /** Of a migration that is going on. */
  target?: Launcher;
}

export class Machine {
  readonly namespace: string;
  readonly name: string;
  readonly scheme: Scheme;
  /** Undefined: there is no VM object (a VMI without one, or the VM was deleted and its VMI left). */
  vmUid: string | undefined;
  instance: Instance | undefined;

  constructor({ namespace, name, scheme = "hashed" }: MachineSpec) {
    this.namespace = namespace;
    this.name = name;
    this.scheme = scheme;
  }

  /** Of the VM and of the VMI: they always have one name. */
  get at(): { readonly namespace: string; readonly name: string } {
    return { namespace: this.namespace, name: this.name };
  }

  /** Whose address it is: the VM's UID, or the VMI's without one. */
  get ownerUid(): string | undefined {
    return this.vmUid ?? this.instance?.uid;
  }
}
