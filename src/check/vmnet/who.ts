// Who has an address or a MAC of a network with managed DHCP, beside its holds: what pools keep for nobody. Pure. An
// address that no hold names may be the server's.
import { parseAddress } from "../../net/address.ts";
import { includes } from "../../net/interval.ts";
import type { Answer, Asked } from "../who.ts";
import type { VmNetworksSnapshot } from "./snapshot.ts";
import { leaseRows, type LeaseRow } from "./table.ts";

/** What holds do not say: reserved and excluded addresses. */
export function whoReserves(snapshot: VmNetworksSnapshot, asked: Asked): Answer[] {
  return leaseRows({ ...snapshot, holds: [] })
    .filter((row) => isAsked(row, asked))
    .map(answerOf);
}

function isAsked({ address, mac }: LeaseRow, asked: Asked): boolean {
  if ("mac" in asked) return mac === asked.mac;
  if ("block" in asked) return includes(asked.block, parseAddress(address));
  return "address" in asked && address === asked.address.toString();
}

function answerOf({ address, mac, network, pool, state, note }: LeaseRow): Answer {
  return {
    address,
    domain: `vm-network:${network}`,
    owner: mac === "" ? `nobody, it is ${state}${note === "" ? "" : ` (${note})`}` : `${mac}, for which it is reserved`,
    uid: "",
    state: "held",
    since: "",
    until: "",
    node: "",
    object: `ippl ${pool}`,
    pools: [pool],
    slice: "",
    keeper: "",
    vm: "",
    identity: "",
    users: [],
    mac,
    why: "",
  };
}
