// What is wrong with an object of managed DHCP: which field, what it says, what to write instead. Pure. Three weights,
// since clusters have objects that Harvester accepted: they go on where their meaning is clear, and new ones are
// right.
import { describeObject, type ReadMetadata } from "../../api/metadata.ts";

type IssueWeight =
  /** It has no clear meaning, or nobody may ask for it: it is not carried out, whoever wrote it and whenever. */
  | "error"
  /** Refused in a new object. In one that is there, its meaning is clear: the reading says how it is taken. */
  | "tolerated"
  /** Said, and never refused. */
  | "advice";

export type IssueCode =
  | "bad-type"
  | "missing"
  | "bad-network-name"
  | "bad-subnet"
  | "subnet-too-small"
  | "bad-address"
  | "given-twice"
  | "outside-subnet"
  | "network-address"
  | "broadcast-address"
  | "backwards"
  | "no-server-address"
  | "server-is-router"
  | "bad-exclude"
  | "bad-reservation"
  | "nothing-usable"
  | "bad-lease-time"
  | "bad-option"
  | "bad-mac"
  | "no-nics"
  | "duplicate-nic"
  // by what else is in the cluster
  | "unknown-network"
  | "foreign-namespace"
  | "overlapping-pool"
  | "overlaps-cluster"
  | "two-givers"
  | "immutable"
  | "address-held"
  | "hold-outside"
  | "in-use"
  | "not-in-pool"
  | "duplicate-mac"
  | "duplicate-address"
  | "no-pool";

export interface Issue {
  readonly weight: IssueWeight;
  readonly code: IssueCode;
  /** `spec.ipv4Config.cidr`; empty: the object as a whole. */
  readonly field: string;
  /** A sentence without its object: what is there, what is wrong with it, what to write. */
  readonly message: string;
}

/** What is found while an object is read. */
export class Issues {
  readonly list: Issue[] = [];

  get hasErrors(): boolean {
    return this.list.some(({ weight }) => weight === "error");
  }

  error(code: IssueCode, field: string, message: string): void {
    this.list.push({ weight: "error", code, field, message });
  }

  tolerate(code: IssueCode, field: string, message: string): void {
    this.list.push({ weight: "tolerated", code, field, message });
  }

  advise(code: IssueCode, field: string, message: string): void {
    this.list.push({ weight: "advice", code, field, message });
  }
}

/** What an error in `ipv6Config` costs, and nothing more: the end of its sentence. */
export const withoutIpv6 = "Until then the pool has no IPv6.";

export function costsIpv6({ message }: Issue): boolean {
  return message.endsWith(withoutIpv6);
}

/** The names under which people find the objects: the plural `ippools` is whereabouts' too. */
const poolKindName = "ippl";
export const networkConfigKindName = "vmnetcfg";

export function describePool(metadata: ReadMetadata): string {
  return describeObject(poolKindName, metadata);
}

export function describeNetworkConfig(metadata: ReadMetadata): string {
  return describeObject(networkConfigKindName, metadata);
}

/** The whole sentence: `ippl default/net-48: spec.ipv4Config.cidr: ...`. */
export function describeIssue(subject: string, issue: Issue): string {
  return describeIssues(subject, [issue]);
}

/** All of them, with the object named once. */
export function describeIssues(subject: string, issues: readonly Issue[]): string {
  return `${subject}: ${issues.map(({ field, message }) => `${field === "" ? "" : `${field}: `}${message}`).join(" ")}`;
}

/** What stands in the way of a new object; of a changed one, only what was not there before. */
export function refusalsOf(issues: readonly Issue[], before: readonly Issue[] = []): readonly Issue[] {
  const known = new Set(before.map(identityOf));
  return issues.filter((each) => each.weight !== "advice" && !known.has(identityOf(each)));
}

function identityOf({ code, field, message }: Issue): string {
  return `${code} ${field} ${message}`;
}
