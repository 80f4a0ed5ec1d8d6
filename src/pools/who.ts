// Who holds an address, or what a pod holds: lines for `holdfast who`. Pure.
import { tryAddress } from "../api/address-name.ts";
import { describeOwner } from "../ipam/owner.ts";
import type { Address } from "../net/address.ts";
import { describeHeld, type Held } from "./held.ts";
import type { Snapshot } from "./snapshot.ts";

export type Asked = { readonly address: Address } | { readonly namespace: string; readonly name: string };

/** An address, namespace/pod, or a pod of the namespace `default`. */
export function parseAsked(text: string): Asked {
  const address = tryAddress(text);
  if (address !== undefined) return { address };
  const [first = "", second] = text.split("/");
  return second === undefined ? { namespace: "default", name: first } : { namespace: first, name: second };
}

export interface Answer {
  readonly address: string;
  readonly domain: string;
  readonly owner: string;
  readonly uid: string;
  /** `held` or `cooling`. */
  readonly state: "held" | "cooling";
  readonly since: string;
  readonly node: string;
  readonly object: string;
  readonly pools: readonly string[];
  readonly keeper: string;
  readonly why: string;
}

export function whoHolds({ held, index }: Snapshot, asked: Asked): Answer[] {
  return held.filter((each) => isAsked(each, asked)).map((each) => answerOf(each, index.of(each.hold, each.namespace)));
}

function isAsked({ hold, cooling }: Held, asked: Asked): boolean {
  if ("address" in asked) return hold.address.toString() === asked.address.toString();
  return cooling === undefined && hold.owner.namespace === asked.namespace && hold.owner.name === asked.name;
}

function answerOf(held: Held, pools: readonly { readonly key: string }[]): Answer {
  const { hold, cooling, createdMs, node } = held;
  return {
    address: hold.address.toString(),
    domain: hold.domain,
    owner: describeOwner(hold.owner),
    uid: hold.owner.uid,
    state: cooling === undefined ? "held" : "cooling",
    since: createdMs === undefined ? "" : new Date(createdMs).toISOString(),
    node,
    object: describeHeld(held),
    pools: pools.map(({ key }) => key),
    keeper: hold.note?.keeper ?? "",
    why: hold.note?.why ?? "",
  };
}

export function answerLines(answer: Answer): string[] {
  const { address, domain, owner, state, since, node, object, pools, keeper, why, uid } = answer;
  const network = domain.replace(/^network:$/, "the network without a name").replace(/^network:/, "network ");
  const facts: readonly (readonly [string, string])[] = [
    ["object", object],
    ["pod UID", uid],
    ["since", since],
    ["node", node],
    ["pool", pools.join(", ")],
    ["kept by", keeper],
    ["why", why],
  ];
  const head =
    state === "held"
      ? `${address} of ${network}: ${owner}`
      : `${address} of ${network}: nobody, it cools down after ${owner}`;
  return [head, ...facts.flatMap(([name, text]) => (text === "" ? [] : [`  ${name.padEnd(8)} ${text}`]))];
}
