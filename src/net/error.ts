// What src/net throws: input that is no address, prefix, range or MAC. Nothing else in this folder fails.

export type NetErrorCode = "bad-address" | "bad-prefix" | "bad-range" | "bad-mac" | "mixed-families" | "out-of-space";

/** `message` is a whole sentence: what was given, what is wrong with it, what to write instead. */
export class NetError extends Error {
  readonly code: NetErrorCode;

  constructor(code: NetErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "NetError";
    this.code = code;
  }
}
