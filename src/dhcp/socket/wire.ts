// The DHCP server on real interfaces: packet sockets, ARP and the server itself in a thread of their own, so that no
// work of the main thread delays an answer. This is the main thread's side.
//
// Promised: calls are carried out in their order; what is set is served from the next message on; memory is bounded
// whatever comes off the wire; an interface that goes away is reported, and served again when it is back. Not promised:
// that state survives the thread; whoever opened the wire has it.
import type { V4Address } from "../../net/address.ts";
import type { BindingDefinition } from "../server/binding.ts";
import type { PoolDefinition } from "../server/pool.ts";
import type {
  BindingChange,
  LinkDefinition,
  ProbeOptions,
  ProbeResult,
  RefusedBinding,
  Trace,
  TraceBatch,
  TraceOptions,
  WireCounters,
  WireOptions,
} from "./interface.ts";

export interface Wire {
  /** The same link again changes nothing; another one for the same network takes its place. */
  setLink(link: LinkDefinition): void;
  /** The network with its pools, bindings and counters goes too. */
  deleteNetwork(network: string): void;

  /** Throws a DhcpError where the pool cannot be served; the one that was there is served on. */
  setPool(network: string, pool: PoolDefinition): void;
  /** Its bindings stay, and are silent. */
  deletePool(network: string, pool: string): void;

  /** For a network that has no link yet, too. Batches of some thousands are best. */
  changeBindings(network: string, change: BindingChange): readonly RefusedBinding[];
  /** These and no others. */
  replaceBindings(network: string, bindings: readonly BindingDefinition[]): readonly RefusedBinding[];
  /** As another server of the network learned it; undefined ends it. Own DECLINEs count at once and are reported. */
  setQuarantine(network: string, address: V4Address, untilMs: number | undefined): void;

  /**
   * On: ARP requests and ICMP echo for the address are answered with the interface's MAC, and it is announced (three
   * times within two seconds, and when the link comes back). Off: silence from the next frame on. Nothing is set in
   * the kernel. Probe first.
   */
  answerFor(network: string, address: V4Address, isOn: boolean): void;
  /** By ARP (RFC 5227). Rejects with a KernelError where the link is not up: that says nothing about the address. */
  probe(network: string, address: V4Address, options?: ProbeOptions): Promise<ProbeResult>;

  counters(): Promise<WireCounters>;
  /** One at a time for each caller; costs nothing while there is none. */
  trace(options: TraceOptions, onBatch: (batch: TraceBatch) => void): Trace;
  /** A whole Ethernet frame of at most 1,514 bytes, without a tag: the link's is added. A longer one is not sent. */
  send(network: string, frame: Uint8Array): void;

  /** Ends the thread. Promises that are under way reject. */
  close(): Promise<void>;
}

export type OpenWire = (options: WireOptions) => Promise<Wire>;
