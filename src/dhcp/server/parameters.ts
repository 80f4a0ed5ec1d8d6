// The options that a pool or a binding gives its clients, in wire form: made once, when the configuration is read.
import { DhcpError, type DhcpErrorCode } from "../error.ts";
import type { RawOption } from "../message/placement.ts";
import { code } from "../options/codes.ts";
import { encodeOption } from "../options/convert.ts";
import type { OptionValue } from "../options/value.ts";

/** An option by its number, for what has no name here. */
export interface CustomOption {
  readonly code: number;
  readonly value: OptionValue;
  /** Sent to clients that do not ask for it, too. */
  readonly always?: boolean;
}

/** Their values follow from the protocol, the lease or the message that is answered: nobody configures them. */
const ofTheProtocol: ReadonlySet<number> = new Set([
  code.pad,
  code.requestedAddress,
  code.leaseTime,
  code.overload,
  code.messageType,
  code.serverIdentifier,
  code.parameterRequestList,
  code.message,
  code.messageSizeMax,
  code.renewalTime,
  code.rebindingTime,
  code.clientIdentifier,
  code.relayAgent,
  code.end,
]);
/** What one datagram can carry of a single option beside everything else (1,472 bytes of message at most). */
const optionBytesMax = 1024;

/** From so many options on, finding one by its code is faster than looking through them; bindings have fewer. */
const indexedFrom = 4;

/** The options of one pool or one binding. */
export class Parameters {
  /** Index: the code. Empty where there are few. */
  readonly #byCode: (RawOption | undefined)[] = [];
  /** In the order in which they were added. */
  readonly all: RawOption[] = [];
  readonly always: RawOption[] = [];
  readonly #of: string;
  readonly #errorCode: DhcpErrorCode;

  /** `of` is for messages: `Pool default/net-48`. */
  constructor(of: string, errorCode: DhcpErrorCode) {
    this.#of = of;
    this.#errorCode = errorCode;
  }

  /** Those of another, as they came from another thread. */
  static restored(all: readonly RawOption[], always: readonly RawOption[]): Parameters {
    const parameters = new Parameters("", "bad-option");
    for (const option of all) parameters.#add(option, false);
    parameters.always.push(...always);
    return parameters;
  }

  get(optionCode: number): RawOption | undefined {
    if (this.all.length >= indexedFrom) return this.#byCode[optionCode];
    for (let i = 0; i < this.all.length; i++) if (this.all[i]!.code === optionCode) return this.all[i];
    return undefined;
  }

  /** An option that is not set, or an empty list, is no option: nothing is sent with length zero. */
  set(optionCode: number, value: OptionValue | undefined, always = false): void {
    if (value === undefined || (Array.isArray(value.value) && value.value.length === 0)) return;
    if (this.get(optionCode) !== undefined) throw this.#error(`option ${optionCode} is given twice: leave one out`);
    const data = this.#encode(optionCode, value);
    if (data.length > optionBytesMax) {
      throw this.#error(`option ${optionCode} has ${data.length} bytes: it can have ${optionBytesMax} at most`);
    }
    this.#add({ code: optionCode, data }, always);
  }

  #add(option: RawOption, always: boolean): void {
    this.all.push(option);
    if (always) this.always.push(option);
    if (this.all.length > indexedFrom) this.#byCode[option.code] = option;
    else if (this.all.length === indexedFrom) for (const each of this.all) this.#byCode[each.code] = each;
  }

  setCustom(options: readonly CustomOption[] = []): void {
    for (const { code: optionCode, value, always } of options) {
      if (!Number.isInteger(optionCode) || optionCode > 255 || optionCode < 0 || ofTheProtocol.has(optionCode)) {
        throw this.#error(`option ${optionCode} cannot be configured: it belongs to the protocol, or does not exist`);
      }
      this.set(optionCode, value, always);
    }
  }

  #encode(optionCode: number, value: OptionValue): Uint8Array {
    try {
      return encodeOption(optionCode, value);
    } catch (cause) {
      if (!(cause instanceof DhcpError)) throw cause;
      throw new DhcpError(this.#errorCode, `${this.#of}: ${cause.message}`, { cause });
    }
  }

  #error(what: string): DhcpError {
    return new DhcpError(this.#errorCode, `${this.#of}: ${what}.`);
  }
}

/**
 * The options of a reply: `head`, then the requested ones in the client's order (RFC 2132 section 9.8), then those sent
 * unasked. Without a list the client gets everything. An option of the binding goes before the pool's.
 */
export function selectOptions(
  head: readonly RawOption[],
  pool: Parameters,
  own: Parameters | undefined,
  requested: Uint8Array | undefined,
): RawOption[] {
  const chosen = head.slice();
  if (requested === undefined) {
    if (own !== undefined) for (const option of own.all) addOnce(chosen, option);
    for (const option of pool.all) addOnce(chosen, option);
    return chosen;
  }
  for (let i = 0; i < requested.length; i++) {
    const option = own?.get(requested[i]!) ?? pool.get(requested[i]!);
    if (option !== undefined) addOnce(chosen, option);
  }
  if (own !== undefined) for (const option of own.always) addOnce(chosen, option);
  for (const option of pool.always) addOnce(chosen, option);
  return chosen;
}

/** Some 20 options at most: looking through them costs less than a set. */
function addOnce(chosen: RawOption[], option: RawOption): void {
  for (let i = 0; i < chosen.length; i++) if (chosen[i]!.code === option.code) return;
  chosen.push(option);
}
