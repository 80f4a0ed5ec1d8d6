// What src/api refuses with: an object, a name or a value that cannot be what it claims to be. Nothing else here fails.
import { CodedError } from "../net/coded-error.ts";

export type ApiErrorCode =
  | "bad-object" // not the shape of its kind
  | "bad-name" // the API server would refuse it
  | "name-taken" // belongs to another pool already
  | "ambiguous-name" // several meanings, and nothing beside it that decides
  | "bad-range" // neither a range nor an address
  | "not-in-range" // an address that the pool's keys cannot say
  | "offset-too-large" // whereabouts could not read it back
  | "bad-domain" // nobody here wrote it
  | "bad-version";

/** `message` is whole sentences: which object, which key, which value, what to do. */
export class ObjectError extends CodedError<ApiErrorCode> {}
