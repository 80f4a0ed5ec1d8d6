// Names of IPPools: made in every scheme that was ever proposed or built, and read back.
//
//   whereabouts  R    net-R   node-R   net-node-R    what is written today; the default
//   slices       R    net-R   R-node   net-node      the proposal for node slices
//   network           net              net-node      the first scheme of the proposal for named networks
//
// R is the range with ':' and '/' written as '-'. Not promised: that a name has one meaning. An IPv4 range at the end
// is the range. But "a-b---64" is network "a" with b::/64, or a:b::/64 without a network; "a-b-R" is network "a" on
// node "b", or network "a-b"; and in schemes without the range, two ranges of one network meet. So code that finds a
// pool by its name asks pool-identity.ts whether it is the one that was meant.
import type { Address } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import { type Cidr, parseCidr, type Prefix } from "../../net/prefix.ts";
import { ObjectError } from "../error.ts";
import { isLegalName, legalName } from "../name.ts";

export const poolNamings = ["whereabouts", "slices", "network"] as const;
export type PoolNaming = (typeof poolNamings)[number];

export interface PoolIdentity {
  /** The range, or in node-slice mode the node's slice. */
  readonly range: Prefix;
  /** `network_name`; empty: none. */
  readonly network: string;
  /** The node, in node-slice mode; empty otherwise. */
  readonly node: string;
}

export function poolName(identity: PoolIdentity, naming: PoolNaming = "whereabouts"): string {
  return legalName("IPPool", plainName(identity, naming), describeIdentity(identity));
}

/** Every name under which it may be, the one to write first. Early versions named it by the range as `written`. */
export function poolNamesToRead(identity: PoolIdentity, naming: PoolNaming = "whereabouts", written?: Cidr): string[] {
  // A network called as somebody's range is no pool of that range.
  const others = poolNamings.filter(
    (other) => other !== "network" || (identity.network !== "" && !namesRange(identity.network)),
  );
  const names = [poolName(identity, naming), ...others.map((other) => plainName(identity, other))];
  if (written !== undefined && identity.node === "")
    names.push(join([identity.network, rangeText(written.address, written.prefix.length)]));
  return [...new Set(names)].filter(isLegalName);
}

/** One meaning of a pool's name. */
interface PoolNameReading {
  /** A network, a node, or both; empty: nothing. */
  readonly before: string;
  readonly range: Cidr;
  /** The node, in the scheme that has it at the end; empty otherwise. */
  readonly after: string;
}

/** Every meaning that a name has in the scheme, the longest range first; none where the name does not say the range. */
export function readPoolName(name: string, naming: PoolNaming = "whereabouts"): PoolNameReading[] {
  if (naming === "network") return [];
  const dashes = [...name.matchAll(/-/g)].map(({ index }) => index);
  const atEnd = [-1, ...dashes].map((dash) => reading(name.slice(0, Math.max(dash, 0)), name.slice(dash + 1), ""));
  const atStart = dashes.map((dash) => reading("", name.slice(0, dash), name.slice(dash + 1)));
  const all = naming === "slices" ? [...atEnd, ...atStart.reverse()] : atEnd;
  return all.filter((each) => each !== undefined);
}

/** Some pool of a range, in whatever scheme, may have this name. */
export function namesRange(name: string): boolean {
  return readPoolName(name, "slices").length > 0;
}

function reading(before: string, text: string, after: string): PoolNameReading | undefined {
  const range = readRange(text, before === "");
  const isLegal = [before, after].every((part) => part === "" || isLegalName(part));
  return range === undefined || !isLegal ? undefined : { before, range, after };
}

export function describeIdentity({ range, network, node }: PoolIdentity): string {
  const named = network === "" ? "no network name" : `network ${JSON.stringify(network)}`;
  return `range ${range}, ${named}${node === "" ? "" : ` and node ${JSON.stringify(node)}`}`;
}

function plainName(identity: PoolIdentity, naming: PoolNaming): string {
  return legalStart(join(partsOf(identity, naming)));
}

function partsOf({ range, network, node }: PoolIdentity, naming: PoolNaming): string[] {
  const text = rangeText(range.network, range.length);
  switch (naming) {
    case "whereabouts":
      return [network, node, text];
    case "slices":
      if (node === "") return [network, text];
      return network === "" ? [text, node] : [network, node];
    case "network":
      if (network !== "") return [network, node];
  }
  const words = `pool_naming "network" names pools by network_name, and range ${range} has none: set network_name, or choose pool_naming "whereabouts".`;
  throw new ObjectError("bad-name", words);
}

const join = (parts: readonly string[]) => parts.filter((part) => part !== "").join("-");

const rangeText = (address: Address, length: number) => `${address}/${length}`.replaceAll(/[:/]/g, "-");

/** `::/126` alone would be "---126", which no server takes: whereabouts has no such pool, and we write "0---126". */
const legalStart = (name: string) => (name.startsWith("-") ? `0${name}` : name);

/** The range of which this is the text; only as it would be written, so that each text has one range at most. */
function readRange(text: string, atStart: boolean): Cidr | undefined {
  const slash = text.lastIndexOf("-");
  if (slash === -1) return undefined;
  const plain = `${text.slice(0, slash).replaceAll("-", ":")}/${text.slice(slash + 1)}`;
  const cidr = attempt(NetError, () => parseCidr(plain));
  if (cidr === undefined) return undefined;
  const canonical = rangeText(cidr.address, cidr.prefix.length);
  return text === canonical || (atStart && text === legalStart(canonical)) ? cidr : undefined;
}
