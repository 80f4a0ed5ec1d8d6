// Why an installation was refused or could not be done.
import { CodedError } from "../../../net/coded-error.ts";

export type InstallErrorCode =
  | "foreign-file"
  | "too-many-backups"
  | "bad-name"
  | "bad-path"
  | "bad-conf"
  | "unreadable"
  | "unwritable"
  | "does-not-run"
  | "no-shim";

export class InstallError extends CodedError<InstallErrorCode> {}
