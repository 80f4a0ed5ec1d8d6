// Why an installation was refused or could not be done.

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

export class InstallError extends Error {
  override readonly name = "InstallError";
  readonly code: InstallErrorCode;

  constructor(code: InstallErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
