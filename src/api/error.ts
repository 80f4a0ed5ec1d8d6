// What src/api refuses with: an object, a name or a value that cannot be what it claims to be. Nothing else here fails.
import { CodedError } from "../net/coded-error.ts";

export type ApiErrorCode =
  /** An object does not have the shape of its kind. */
  | "bad-object"
  /** A name that the API server would refuse. */
  | "bad-name"
  /** A name that belongs to another pool already. */
  | "name-taken"
  /** A name with several meanings, and nothing beside it that decides. */
  | "ambiguous-name"
  /** A range or an address that is none. */
  | "bad-range"
  /** An address that the pool's keys cannot say. */
  | "not-in-range"
  /** An offset that whereabouts could not read back. */
  | "offset-too-large"
  /** A domain or a version that nobody here wrote. */
  | "bad-domain"
  | "bad-version";

/** `message` is whole sentences: which object, which key, which value, what to do. */
export class ObjectError extends CodedError<ApiErrorCode> {}
