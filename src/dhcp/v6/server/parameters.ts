// The options that a pool gives its clients, in wire form: made once, when the configuration is read.
import { uint16 } from "../../../frame/bytes.ts";
import { DhcpError } from "../../error.ts";
import { codeV6 } from "../options/codes.ts";
import type { RawOptionV6 } from "../options/option.ts";

/** An option by its number, for what has no name here. */
export interface CustomOptionV6 extends RawOptionV6 {
  /** Sent to clients that do not ask for it, too. */
  readonly always?: boolean;
}

/** Their values follow from the protocol, the lease or the message that is answered: nobody configures them. */
const ofTheProtocol: ReadonlySet<number> = new Set([
  0,
  codeV6.clientIdentifier,
  codeV6.serverIdentifier,
  codeV6.iaNa,
  codeV6.iaTa,
  codeV6.iaAddress,
  codeV6.optionRequest,
  codeV6.preference,
  codeV6.elapsedTime,
  codeV6.relayMessage,
  codeV6.authentication,
  codeV6.serverUnicast,
  codeV6.status,
  codeV6.rapidCommit,
  codeV6.interfaceId,
  codeV6.reconfigureMessage,
  codeV6.reconfigureAccept,
  codeV6.iaPd,
  codeV6.iaPrefix,
  codeV6.clientLinkLayerAddress,
]);

/** 32 DNS servers. Both lists of a router advertisement fit into 1,280 bytes with it. */
const optionBytesMax = 512;

export class ParametersV6 {
  /** Key: the code; in the order in which they were added. */
  readonly #byCode = new Map<number, RawOptionV6>();
  readonly #always = new Set<number>();
  readonly #poolName: string;

  constructor(poolName: string) {
    this.#poolName = poolName;
  }

  get(code: number): RawOptionV6 | undefined {
    return this.#byCode.get(code);
  }

  /** An empty list is no option: nothing is sent with length zero. */
  set(code: number, data: Uint8Array): void {
    if (data.length === 0) return;
    if (this.#byCode.has(code)) throw this.#error(`option ${code} is given twice: leave one out`);
    if (data.length > optionBytesMax) {
      throw this.#error(`option ${code} has ${data.length} bytes: it can have ${optionBytesMax} at most`);
    }
    this.#byCode.set(code, { code, data });
  }

  setCustom(options: readonly CustomOptionV6[] = []): void {
    for (const { code, data, always = false } of options) {
      if (!Number.isInteger(code) || code > 0xffff || code < 0 || ofTheProtocol.has(code)) {
        throw this.#error(`option ${code} cannot be configured: it belongs to the protocol, or does not exist`);
      }
      this.set(code, data);
      if (always) this.#always.add(code);
    }
  }

  /** Those that the client asks for, in its order, then those sent unasked. Who names none gets all. */
  select(optionRequest: Uint8Array | undefined): readonly RawOptionV6[] {
    if (optionRequest === undefined) return [...this.#byCode.values()];
    const chosen = new Map<number, RawOptionV6>();
    for (let at = 0; at + 2 <= optionRequest.length; at += 2) this.#choose(uint16(optionRequest, at), chosen);
    for (const code of this.#always) this.#choose(code, chosen);
    return [...chosen.values()];
  }

  #choose(code: number, chosen: Map<number, RawOptionV6>): void {
    const option = this.#byCode.get(code);
    if (option !== undefined) chosen.set(code, option);
  }

  #error(what: string): DhcpError {
    return new DhcpError("bad-pool", `Pool ${this.#poolName}: ${what}.`);
  }
}
