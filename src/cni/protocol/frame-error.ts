// What is wrong with a frame. The connection is of no use any more: answer if you can, then close it.
import { CodedError } from "../../net/coded-error.ts";

export type FrameErrorCode =
  /** Not our protocol at all. */
  | "bad-magic"
  /** Our protocol, another version of it: shim and daemon are of different releases. */
  | "bad-version"
  | "too-large"
  | "bad-environment"
  | "bad-status"
  /** Bytes after the end. */
  | "trailing-bytes"
  /** The other side closed before the end. */
  | "truncated";

export class FrameError extends CodedError<FrameErrorCode> {}
