// What a wire is given and what it reports: values alone, the same on both sides of its thread.
import type { V4Address } from "../../net/address.ts";
import type { Mac } from "../../net/mac.ts";
import type { DhcpError } from "../error.ts";
import type { FaultCode } from "../fault.ts";
import type { MessageTypeName } from "../message/message-type.ts";
import type { BindingDefinition } from "../server/binding.ts";
import type { Effect, ReplyType, SilenceReason } from "../server/outcome.ts";
import type { RateLimitOptions } from "../server/rate-limit.ts";

/** Where the clients of one network are. A network has one link at most. */
export interface LinkDefinition {
  readonly network: string;
  /** `net1`. It need not exist yet: it is opened when it does, and again when it comes back. */
  readonly interface: string;
  /** 1 to 4094: only frames with this 802.1Q tag belong to the network. Undefined: only those without one. */
  readonly vlan?: number;
  /** Relays may ask on this link, and name any network by giaddr. Default: no, since guests could do the same. */
  readonly acceptRelays?: boolean;
  /** Takes DHCPv6 and ICMPv6 (router and neighbour solicitations) too: they go to `WireHandler.frames`. */
  readonly ipv6?: boolean;
  /**
   * With `ipv6`: groups of Ethernet beside those of DHCPv6, of routers and of the interface's own link-local address;
   * where neighbours ask for other addresses that are answered for.
   */
  readonly groups?: readonly Mac[];
}

/** A UDP socket for relays that reach this machine by routing, and for renewals of the clients behind them. */
interface RelayListener {
  /** Of this machine; 0.0.0.0 for all of them. */
  readonly address: V4Address;
  /** Default: 67. */
  readonly port?: number;
}

export interface WireOptions {
  readonly handler: WireHandler;
  readonly relay?: RelayListener;
  /** Path of the network namespace that the interfaces are in. Default: this process's. */
  readonly netns?: string;
  readonly rateLimit?: RateLimitOptions;
}

/** Called on the main thread, in batches, in order. What a handler throws ends the process: it catches what it does. */
export interface WireHandler {
  /** The newest `leased` or `released` of an address stands for those before it. Of other kinds 4,096 wait at most. */
  effects(effects: readonly Effect[]): void;
  /** Each link once when it is set, then at every change. */
  link(report: LinkReport): void;
  /** Another host says that it has an address that this wire answers for. The wire defends it once in ten seconds. */
  contested(contest: Contest): void;
  /** The thread is lost, and everything it was told with it: open another wire and tell it again. */
  lost(error: Error): void;
  /** Of links with `ipv6`. At most 1,024 wait, 256 of one network, 32 of one sender; the rest are dropped. */
  frames?(frames: readonly ReceivedFrame[]): void;
}

export type LinkState =
  /** Frames come and go. */
  | "up"
  /** The interface is there and down: nothing comes. */
  | "down"
  /** There is no such interface, or none of Ethernet. It is looked for four times a second. */
  | "missing"
  /** The kernel refuses the socket: `message` says why. Tried again once a second. */
  | "refused";

export interface LinkReport {
  readonly network: string;
  readonly interface: string;
  readonly state: LinkState;
  /** The interface's, in state `up` and `down`. */
  readonly mac?: Mac;
  /** With `ipv6`, in state `up`: the kernel takes a default route from whoever advertises one there. */
  readonly acceptsRouters?: boolean;
  /** A whole sentence, with the remedy. */
  readonly message: string;
}

export interface Contest {
  readonly network: string;
  readonly address: V4Address;
  readonly mac: Mac;
}

export interface BindingChange {
  readonly set?: readonly BindingDefinition[];
  /** By address; carried out before `set`. */
  readonly delete?: readonly V4Address[];
}

/** A binding that cannot be served. The others of its batch are. */
export interface RefusedBinding {
  readonly binding: BindingDefinition;
  readonly error: DhcpError;
}

export type ProbeResult = { readonly kind: "silent" } | { readonly kind: "in-use"; readonly mac: Mac };

export interface ProbeOptions {
  /** How long to listen, 20 ms to 10 s. Three questions, at 0, 1/4 and 1/2 of it. Default: 1,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Counts since the wire was opened. */
export interface WireCounters {
  /** Key: the network's name; `""` for messages that belong to none. */
  readonly networks: ReadonlyMap<string, NetworkCounters>;
  /** Key: the interface's name; `"relay"` for the UDP listener. */
  readonly sockets: ReadonlyMap<string, SocketCounters>;
}

export interface NetworkCounters {
  readonly bindings: number;
  /** Key: the client's pool; `""` for messages of nobody's. */
  readonly pools: ReadonlyMap<string, MessageCounters>;
}

interface MessageCounters {
  readonly received: ReadonlyMap<MessageTypeName | "other", number>;
  readonly replies: ReadonlyMap<ReplyType, number>;
  readonly silences: ReadonlyMap<SilenceReason, number>;
  readonly faults: ReadonlyMap<FaultCode, number>;
}

export interface SocketCounters {
  readonly framesReceived: number;
  readonly framesSent: number;
  /** Received and lost because the socket's buffer was full: the kernel's own count. */
  readonly droppedByKernel: number;
  /** Refused when sent: the link was down, or its queue full. */
  readonly sendsFailed: number;
  /** Frames of no network: another VLAN tag, another destination. */
  readonly ignored: number;
}

export interface ReceivedFrame {
  readonly network: string;
  /** May have its tag, or not: the network tells it. */
  readonly bytes: Uint8Array;
  /** Of this machine, whose checksum nobody has computed: it need not be right. */
  readonly isChecksumGiven: boolean;
}

export interface TraceOptions {
  /** Default: all. */
  readonly network?: string;
  /** Only frames from or to this client (chaddr, or Ethernet source). Default: all. */
  readonly mac?: Mac;
}

export interface TracedFrame {
  readonly atMs: number;
  readonly network: string;
  readonly direction: "in" | "out";
  /** A whole Ethernet frame, with its tag. A datagram of the UDP listener has made-up Ethernet addresses (zero). */
  readonly bytes: Uint8Array;
  /** Of an incoming message that is not answered: why. */
  readonly silence?: SilenceReason;
}

export interface TraceBatch {
  readonly frames: readonly TracedFrame[];
  /** Since the last batch: frames that came faster than they were taken. At most 4,096 wait, 1 MiB in all. */
  readonly dropped: number;
}

export interface Trace {
  close(): void;
}
