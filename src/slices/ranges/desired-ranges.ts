// Sliced ranges that definitions ask for: a wish per namespace of pools, network_name and range (docs/decisions/0013).
// Pure. Promised: the order of definitions and pools does not matter; wishes of a namespace and network never overlap;
// existing pools, then older definitions, settle disputes. What another namespace recorded is not cut; slices stay.
import type { SettlingRule } from "../../api/pools/pool-domain.ts";
import { shortened, sliceUseKey } from "../../api/slices/node-lease.ts";
import { administers, type Trusted } from "../../cluster/trusted-namespaces.ts";
import type { Definition } from "../../cni/config/definitions.ts";
import { usefulOf } from "../../cni/config/pool-definition.ts";
import type { IpamRange } from "../../cni/config/range.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import { comparePrefixes, overlaps, type Prefix } from "../../net/prefix.ts";
import { type CutRules, excessOf, namespaceOf, type Objection, objectionTo } from "./consent.ts";

export interface PoolSpec {
  readonly namespace: string;
  readonly name: string;
  /** network_name; empty: none. */
  readonly network: string;
  readonly range: Prefix;
  readonly sliceLength: number;
  readonly floatingLength?: number | undefined;
}

export interface ExistingPool extends Omit<PoolSpec, "network"> {
  /** Undefined: no annotation says it, so the pool is one of whereabouts'. */
  readonly network?: string | undefined;
  readonly hasSlices: boolean;
}

interface Use {
  readonly definition: Definition;
  readonly range: IpamRange;
  /** Its place among the definition's ranges. */
  readonly index: number;
}

export interface Wish extends Omit<PoolSpec, "name"> {
  /** sliceUseKey: namespace, network, range. */
  readonly key: string;
  /** The addresses that any definition hands out. */
  readonly useful: IntervalSet;
  /** The definitions that ask for slices, the oldest first. */
  readonly uses: readonly Use[];
  /** Its definitions never changed and share none of it with others: nobody took of it before it was cut. */
  readonly isOriginal: boolean;
  readonly disagreement?: string | undefined;
  /** Why none of its definitions may have it cut. */
  readonly objection?: Objection | undefined;
}

/** A range that gets no slices, and why, in a sentence. */
export interface Refusal {
  readonly wish: Wish;
  readonly reason: "Overlapping" | "Disagreement" | Objection["reason"];
  readonly why: string;
}

export interface Wishes {
  readonly accepted: readonly Wish[];
  readonly refused: readonly Refusal[];
}

/** For the domain of what is shared of a range: the strictest of all who use it. */
export type Sharing = Pick<SettlingRule, "protectsOverlaps" | "mayStandAlone">;

/** Key: sliceUseKey of every range of any definition, cut or not. */
export function sharingOf(definitions: readonly Definition[], trusted: Trusted): Map<string, Sharing> {
  const sharing = new Map<string, Sharing>();
  for (const { object, config, poolNamespace: namespace } of definitions) {
    const mayDecide = administers(object.metadata.namespace ?? "", namespace, trusted);
    for (const { prefix: range } of config.ranges) {
      const key = sliceUseKey({ namespace, network: config.networkName, range });
      const { protectsOverlaps = false, mayStandAlone = false } = sharing.get(key) ?? {};
      sharing.set(key, {
        protectsOverlaps: protectsOverlaps || config.overlappingRanges,
        mayStandAlone: mayStandAlone || mayDecide,
      });
    }
  }
  return sharing;
}

export interface WishRules extends CutRules {
  readonly nodes: number;
}

export function wishesOf(definitions: readonly Definition[], pools: readonly ExistingPool[], rules: WishRules): Wishes {
  // A range that is not sliced counts only for useful addresses.
  const all: readonly Use[] = definitions
    .flatMap((definition) => definition.config.ranges.map((range, index) => ({ definition, range, index })))
    .toSorted(compareAge);
  const groups = Map.groupBy(all, ({ definition, range }) =>
    sliceUseKey({ namespace: definition.poolNamespace, network: definition.config.networkName, range: range.prefix }),
  );
  const wishes = [...groups]
    .flatMap(([key, uses]) => wishOf(key, uses, pools, rules) ?? [])
    .map((wish) => (wish.isOriginal && all.some((use) => isShared(use, wish)) ? { ...wish, isOriginal: false } : wish));
  const isCut = (wish: Wish) => poolOf(wish, pools)?.hasSlices === true;
  const refused: Refusal[] = [];
  const asked = wishes.flatMap((wish): Wish[] => {
    const objection = isCut(wish) ? undefined : (wish.objection ?? recordedBefore(wish, all, rules));
    if (objection !== undefined) refused.push({ wish, ...objection });
    return objection === undefined ? [wish] : [];
  });
  const accepted: Wish[] = [];
  for (const network of Map.groupBy(asked, ({ namespace, network: name }) => `${namespace} ${name}`).values()) {
    const settled = settleRanges(network, isCut);
    refused.push(...settled.refused);
    const apart: Wish[] = [];
    for (const wish of settled.accepted) {
      const other = apart.find((each) => overlaps(each.range, wish.range));
      if (other === undefined) apart.push(wish);
      else refused.push({ wish, reason: "Overlapping", why: overlapWords(wish, other) });
    }
    accepted.push(...apart);
  }
  return within({ accepted, refused }, isCut, rules);
}

/** Keeps to the limits: cut ranges, then accepted, trusted, older. Refused ones count: their pool says why. */
function within({ accepted, refused }: Wishes, isCut: (wish: Wish) => boolean, rules: WishRules): Wishes {
  const counts = new Map<string, number>();
  const excess = new Map<string, Refusal>();
  const isTrusted = ({ uses }: Wish) => rules.trusted.has(namespaceOf(uses[0]!.definition));
  const isAccepted = new Set(accepted);
  const heard = refused.filter(({ reason }) => reason !== "NotTrusted" && reason !== "TooMany");
  const rankOf = (wish: Wish) => 4 * Number(isCut(wish)) + 2 * Number(isAccepted.has(wish)) + Number(isTrusted(wish));
  const all = [...accepted, ...heard.map(({ wish }) => wish)];
  const ranked = all.toSorted((a, b) => rankOf(b) - rankOf(a) || compareAge(a.uses[0]!, b.uses[0]!));
  let inAll = 0;
  let untrusted = 0;
  for (const wish of ranked) {
    const { definition } = wish.uses[0]!;
    const namespace = namespaceOf(definition);
    const ranges = 1 + (counts.get(namespace) ?? 0);
    const more = isTrusted(wish) ? 0 : 1;
    const sums = { ranges, inAll: inAll + 1, untrusted: untrusted + more, nodes: rules.nodes };
    const objection = isCut(wish) ? undefined : excessOf(definition, sums, rules);
    if (objection === undefined) {
      counts.set(namespace, ranges);
      inAll += 1;
      untrusted += more;
    } else excess.set(wish.key, { wish, ...objection });
  }
  const kept = refused.filter(({ wish }) => !excess.has(wish.key));
  return {
    accepted: accepted.filter(({ key }) => !excess.has(key)),
    refused: [...kept, ...excess.values()].map((each) => ({ ...each, why: shortened(each.why, longestWhy) })),
  };
}

/** The sentence stands in conditions, in holdfast-state and in events. */
const longestWhy = 2000;

function compareAge({ definition: a }: Pick<Use, "definition">, { definition: b }: Pick<Use, "definition">): number {
  return createdMs(a) - createdMs(b) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}

/** Another namespace that administers the pools shared a part of the range, or more, before: it would have less. */
function recordedBefore(wish: Wish, all: readonly Use[], { trusted }: CutRules): Objection | undefined {
  // A definition that does not administer the pools keeps nobody from cutting: what it holds stays taken. One of the
  // very same range is served from slices.
  const own = new Set(wish.uses.map(({ definition }) => namespaceOf(definition)));
  // The time of a change is not known: a changed definition counts as later than the others.
  const isChanged = wish.uses.some(wasChanged);
  const other = all.find(
    (use) =>
      isShared(use, wish) &&
      comparePrefixes(use.range.prefix, wish.range) !== 0 &&
      !own.has(namespaceOf(use.definition)) &&
      isAdministered(use, trusted) &&
      (isChanged || compareAge(use, wish.uses[0]!) < 0),
  );
  if (other === undefined) return undefined;
  const theirs = `${other.range.prefix} of ${other.definition.key}, of another namespace, was there before`;
  const what = `${wish.range} of ${namesOf(wish.uses)} is not cut into slices: ${theirs} and would be left with less`;
  return { reason: "OnRecord", why: `${what}. Give one of them another range or network_name.` };
}

function isAdministered({ definition }: Use, trusted: Trusted): boolean {
  return administers(namespaceOf(definition), definition.poolNamespace, trusted);
}

function wasChanged({ definition }: Use): boolean {
  return (definition.object.metadata.generation ?? 2) !== 1;
}

/** The definition takes from addresses of the wish until it knows that they are cut. */
function isShared({ definition, range }: Use, wish: Wish): boolean {
  if (range.sliceLength !== undefined || !overlaps(range.prefix, wish.range)) return false;
  return definition.poolNamespace === wish.namespace && definition.config.networkName === wish.network;
}

function createdMs({ object }: Definition): number {
  const ms = Date.parse(object.metadata.creationTimestamp ?? "");
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
}

function wishOf(key: string, all: readonly Use[], pools: readonly ExistingPool[], rules: CutRules): Wish | undefined {
  const asking = all.filter(({ range }) => range.sliceLength !== undefined);
  const allowed = asking.filter(({ definition }) => objectionTo(definition, rules) === undefined);
  // A definition that may not have the range cut does not say how it is cut either.
  const uses = allowed.length > 0 ? allowed : asking;
  const [oldest] = uses;
  if (oldest === undefined) return undefined;
  const objection = allowed.length > 0 ? undefined : objectionTo(oldest.definition, rules);
  const { poolNamespace: namespace, config } = oldest.definition;
  const base = { key, namespace, network: config.networkName, range: oldest.range.prefix, uses };
  const disagreement = sizeDisagreement(uses);
  const there = disagreement === undefined ? undefined : poolOf(base, pools);
  const { sliceLength, floatingLength } = there ?? oldest.range;
  const remedy = `The pool has ${sizeText(there ?? oldest.range)}. Write the same into all of them.`;
  return {
    ...base,
    sliceLength: sliceLength!,
    floatingLength,
    objection,
    useful: IntervalSet.of(all.flatMap(({ definition, range }) => [...usefulOf(definition.config, range)])),
    isOriginal: !all.some(wasChanged),
    disagreement: disagreement && `${disagreement} ${remedy}`,
  };
}

/** The pool of a range: one whose mark says so, or one of whereabouts' whose name and range fit. */
export function poolOf(
  wish: Pick<Wish, "namespace" | "network" | "range" | "uses">,
  pools: readonly ExistingPool[],
): ExistingPool | undefined {
  const fits = pools.filter((each) => each.namespace === wish.namespace && `${each.range}` === `${wish.range}`);
  const own = fits.find(({ network }) => network === wish.network);
  if (own !== undefined) return own;
  const byRange = `${wish.range}`.replaceAll(/[:/]/g, "-");
  // The fork names it by the range where there is no network_name.
  const names = new Set(
    wish.uses.flatMap(({ definition: { config } }) =>
      config.networkName === "" ? [config.name, byRange] : [config.networkName],
    ),
  );
  return fits.find(({ network, name }) => network === undefined && names.has(name));
}

function sizeDisagreement(uses: readonly Use[]): string | undefined {
  const bySize = Map.groupBy(uses, ({ range }) => sizeText(range));
  if (bySize.size < 2) return undefined;
  const parts = [...bySize].map(([size, each]) => `${namesOf(each)} ask${each.length === 1 ? "s" : ""} for ${size}`);
  return `Of ${uses[0]!.range.prefix}, ${firstOf(parts)}.`;
}

function sizeText({ sliceLength, floatingLength }: Pick<Partial<PoolSpec>, "sliceLength" | "floatingLength">): string {
  const floating = floatingLength === undefined ? "" : ` with a floating /${floatingLength}`;
  return `slices of /${sliceLength}${floating}`;
}

/** A sentence names so many definitions; events are on each. */
const mostNames = 5;

function namesOf(uses: readonly Use[]): string {
  const names = [...new Set(uses.map(({ definition }) => definition.key))];
  return names.length <= mostNames ? names.join(" and ") : firstOf(names);
}

function firstOf(parts: readonly string[]): string {
  const more = parts.length - mostNames;
  return parts.slice(0, mostNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** If definitions of a network list different ranges of a family, sliced ones stay; else the oldest definition's. */
function settleRanges(wishes: readonly Wish[], isCut: (wish: Wish) => boolean): Wishes {
  const ranked = [...wishes.filter(isCut), ...wishes.filter((wish) => !isCut(wish))];
  const accepted: Wish[] = [];
  const refused: Refusal[] = [];
  for (const family of Map.groupBy(ranked, ({ range }) => range.family).values()) {
    const disagreement = rangeDisagreement(family);
    if (disagreement === undefined) {
      accepted.push(...family);
      continue;
    }
    const oldest = family.flatMap(({ uses }) => uses).reduce((a, b) => (compareAge(b, a) < 0 ? b : a)).definition;
    const isOfOldest = ({ uses }: Wish) => uses.some(({ definition }) => definition === oldest);
    const stays = family.some(isCut) ? isCut : isOfOldest;
    for (const wish of family) {
      const why = `${disagreement} Write the same range into all of them.`;
      if (stays(wish)) accepted.push({ ...wish, disagreement: [wish.disagreement, why].filter(Boolean).join(" ") });
      else refused.push({ wish, reason: "Disagreement", why });
    }
  }
  return { accepted, refused };
}

/** Some definition lacks a range that another has, and has one that the other lacks. */
function rangeDisagreement(family: readonly Wish[]): string | undefined {
  if (family.length < 2 || family[0]!.network === "") return undefined;
  const all = family.flatMap(({ uses }) => uses);
  const byDefinition = Map.groupBy(all, ({ definition }) => definition.key);
  const lists = Array.from(byDefinition.values(), (uses) => new Set(uses.map(({ range }) => `${range.prefix}`)));
  const longest = lists.reduce((a, b) => (b.size > a.size ? b : a));
  // Lists that are all parts of the longest one are no disagreement.
  if (lists.every((list) => list.isSubsetOf(longest))) return undefined;
  const parts = family.map(({ range, uses }) => `${range} (${namesOf(uses)})`);
  return `Definitions of the network ${JSON.stringify(family[0]!.network)} have different ranges: ${firstOf(parts)}.`;
}

function overlapWords(wish: Wish, other: Wish): string {
  const network = wish.network === "" ? "without network_name" : `of the network ${JSON.stringify(wish.network)}`;
  const what = `The sliced range ${wish.range} of ${namesOf(wish.uses)} overlaps ${other.range} of ${namesOf(other.uses)}`;
  const remedy = "Give it a range of its own, the very same range, or another network_name.";
  return `${what}, both ${network}: it gets no slices. ${remedy}`;
}
