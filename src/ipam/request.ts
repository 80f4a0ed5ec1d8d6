// What may be asked of a pool, and what it answers.
import type { Address } from "../net/address.ts";
import type { Owner } from "./owner.ts";
import type { TraceLine } from "./trace.ts";

export type Want =
  | { readonly kind: "any" }
  /** This one or none. */
  | { readonly kind: "given"; readonly address: Address }
  /** This one if it is free, else any. */
  | { readonly kind: "preferred"; readonly address: Address }
  /** The first of these that is free, in this order. */
  | { readonly kind: "oneOf"; readonly addresses: readonly Address[] };

/** How one of several free addresses is chosen. */
export type Strategy =
  /** The lowest: whereabouts' order. */
  | { readonly kind: "lowest" }
  /** The next above the one taken last, wrapping round: an address comes back as late as possible. */
  | { readonly kind: "next" }
  /** Any; even when much is free, two writers rarely meet. */
  | { readonly kind: "random" }
  /** A random one of the lowest `width`, doubled for every further candidate: many writers, few conflicts, addresses still low. */
  | { readonly kind: "spread"; readonly width: number }
  /** By the owner's name: a pod of the same name gets the same address as long as nobody else has it. */
  | { readonly kind: "sticky" };

export interface Request {
  readonly owner: Owner;
  /** Default: any. */
  readonly want?: Want;
  /** Default: lowest. */
  readonly strategy?: Strategy;
}

export interface Candidate {
  readonly address: Address;
  /** It is still cooling down: nothing else was left. The giver says so in an event. */
  readonly early: boolean;
}

export interface Grant extends Candidate {
  readonly kind: "grant";
  /** `yours`: the owner has it already. `returning`: it released this one last, and nobody else has had it since. */
  readonly why: "yours" | "returning" | "given" | "preferred" | "listed" | Strategy["kind"];
  /**
   * What to try next where the ledger says that `address` is another's. Lazy, without repeats, and it reads the pool as it is
   * when the next one is asked for.
   */
  readonly further: () => Iterable<Candidate>;
  /** Why lower or listed addresses were passed over; at most `limit` lines, and one that says how it goes on. */
  readonly trace: (limit?: number) => TraceLine[];
}

export type RefusalCode =
  | "exhausted"
  | "not-in-range"
  | "excluded"
  | "reserved"
  | "held-by-another"
  | "cooling-down"
  | "too-small"
  /** The owner has an address here, and it is not the one it asks for now. */
  | "owner-has-another";

export interface Refusal {
  readonly kind: "refusal";
  readonly code: RefusalCode;
  /** A sentence: what was asked, why not, and what to do. */
  readonly message: string;
  readonly trace: (limit?: number) => TraceLine[];
}

export type Decision = Grant | Refusal;
