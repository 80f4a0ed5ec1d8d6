// Why the shim could not be built.

export class ShimBuildError extends Error {
  override readonly name = "ShimBuildError";
  readonly code: "CompilerMissing" | "CompilerUnreachable" | "BuildFailed" | "DoesNotRun";

  constructor(code: ShimBuildError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
