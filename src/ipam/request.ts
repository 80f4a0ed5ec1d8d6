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

/**
 * Every n-th address is a stripe. The first candidate is the lowest of the stripe `first`; each further one, also where
 * a stripe has none, is the lowest of the stripe `step` further on. One stripe: the lowest of all.
 */
export interface Spread {
  readonly kind: "spread";
  /** How many; rounded up to a power of two. */
  readonly stripes: number;
  readonly first: number;
  /** Taken as odd: then every stripe comes up once. */
  readonly step: number;
}

/** How one of several free addresses is chosen. */
export type Strategy =
  /** The lowest: whereabouts' order. */
  | { readonly kind: "lowest" }
  /** Any; even when much is free, two writers rarely meet. */
  | { readonly kind: "random" }
  /** Each of many writers in a stripe of its own: few conflicts, addresses still low. */
  | Spread
  /** By the owner's name: a pod of the same name gets the same address as long as nobody else has it. */
  | { readonly kind: "sticky" };

export interface Request {
  readonly owner: Owner;
  /** Default: any. */
  readonly want?: Want;
  /** Default: lowest. */
  readonly strategy?: Strategy;
  /** Nothing that still cools is given, however full the pool: somebody may use it by a lease. Default: it is, last. */
  readonly lateOnly?: boolean;
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
  /** To try next where the ledger says that `address` is another's. Lazy, no repeats; reads the pool as it is then. */
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
