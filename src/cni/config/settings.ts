// Everything of a configuration that is neither a range nor an address: names, modes, paths.
import { isLegalName } from "../../api/name.ts";
import { namesRange, type PoolNaming, poolNamings } from "../../api/pools/pool-name.ts";
import { type JsonObject, textOf } from "../json.ts";
import type { Findings } from "./findings.ts";
import type { IpamRange } from "./range.ts";
import { judgeFastIpam } from "./slicing.ts";

/** `cluster`: whereabouts' namespace, kube-system by default. `nad`: that of the network attachment definition. */
type PoolNamespace = "cluster" | "nad";

export interface Settings {
  /** Separates domains: the same address may be held once in each. Empty: the unnamed one. */
  readonly networkName: string;
  /** An address is given once in the whole domain, also where ranges overlap. False: once in each pool. */
  readonly overlappingRanges: boolean;
  readonly poolNaming: PoolNaming;
  readonly poolNamespace: PoolNamespace;
  /** `statefulset`: the address stays with the name of a StatefulSet's pod. `none`: with the pod. */
  readonly sticky: "none" | "statefulset";
  /** How long a released address rests; undefined where the daemon's default counts. 0 is whereabouts' behaviour. */
  readonly cooldownMs?: number;
  /** The network is asked whether somebody uses the address, before it is answered. */
  readonly probe: boolean;
}

/** A name of 253 characters, less "-" and the longest range (39 + 4): the room for the network in a pool's name. */
const maxNetworkName = 253 - 1 - 43;
const maxSleepSeconds = 10;
/** A year: what rests longer is better excluded. */
const maxCooldownSeconds = 365 * 24 * 3600;

export function parseSettings(ipam: JsonObject, ranges: readonly IpamRange[], findings: Findings): Settings {
  judgeUnusedValues(ipam, findings);
  judgeFastIpam(ipam, ranges, findings);
  const cooldownMs = parseCooldown(ipam, findings);
  return {
    networkName: parseNetworkName(ipam, findings),
    overlappingRanges: ipam["enable_overlapping_ranges"] !== false,
    poolNaming: parsePoolNaming(ipam, findings),
    poolNamespace: parseChoice(ipam, "pool_namespace", ["cluster", "nad"], findings),
    sticky: parseChoice(ipam, "sticky", ["none", "statefulset"], findings),
    ...(cooldownMs !== undefined && { cooldownMs }),
    probe: ipam["probe"] === true,
  };
}

function parseNetworkName(ipam: JsonObject, findings: Findings): string {
  const name = textOf(ipam["network_name"]);
  if (name === "" || (name.length <= maxNetworkName && isLegalName(name))) return name;
  const reason =
    "it becomes a part of object names, which the API server would refuse; " +
    `write lower-case letters, digits, "-" and ".", at most ${maxNetworkName} characters`;
  findings.disallow("ipam.network_name", name, reason, "it is used as it is");
  return name;
}

function parsePoolNaming(ipam: JsonObject, findings: Findings): PoolNaming {
  const naming = parseChoice(ipam, "pool_naming", poolNamings, findings);
  if (naming === "network" && textOf(ipam["network_name"]) === "") {
    const how = "it names pools by network_name: set network_name, or write whereabouts";
    findings.refuse("ipam.pool_naming", naming, how);
  }
  if (naming === "network" && namesRange(textOf(ipam["network_name"]))) {
    const name = JSON.stringify(ipam["network_name"]);
    const how = `network_name ${name} is the name that the pool of another range has; write another name, or whereabouts`;
    findings.refuse("ipam.pool_naming", naming, how);
  }
  return naming;
}

function parseChoice<const T extends string>(
  ipam: JsonObject,
  key: string,
  choices: readonly [T, ...T[]],
  findings: Findings,
): T {
  const text = textOf(ipam[key]);
  if (text === "") return choices[0];
  const choice = choices.find((known) => known === text);
  if (choice === undefined) findings.refuse(`ipam.${key}`, text, `write ${choices.join(" or ")}`);
  return choice ?? choices[0];
}

/** An impossible cooldown is refused in every mode: whereabouts lacks the key, so no old configuration has it. */
function parseCooldown(ipam: JsonObject, findings: Findings): number | undefined {
  const seconds = ipam["cooldown"];
  if (typeof seconds !== "number") return undefined;
  if (seconds >= 0 && seconds <= maxCooldownSeconds) return seconds * 1000;
  findings.refuse("ipam.cooldown", seconds, `write seconds, 0 (no rest) to ${maxCooldownSeconds}`);
  return undefined;
}

function judgeUnusedValues(ipam: JsonObject, findings: Findings): void {
  const sleep = ipam["sleep_for_race"] ?? 0;
  if (typeof sleep === "number" && (sleep < 0 || sleep > maxSleepSeconds)) {
    const reason = `it is a debugging aid of whereabouts; write 0 to ${maxSleepSeconds}, or remove it`;
    findings.dislike("ipam.sleep_for_race", sleep, reason, "it is ignored");
  }
  const store = textOf(ipam["datastore"]);
  if (store === "" || store === "kubernetes") return;
  const reason = "allocations live in the Kubernetes API; write kubernetes, or remove it";
  findings.dislike("ipam.datastore", store, reason, "it is ignored");
}
