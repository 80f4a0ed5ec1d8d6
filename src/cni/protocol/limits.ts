// What shim and daemon agree on besides the bytes: how much, how long, and where.

/** A configuration with a few hundred ranges and an earlier result is some 100 KiB; a GC names 500 attachments in 60 KiB. */
export const stdinLimitBytes = 1024 * 1024;

/** Six variables. The kernel allows 128 KiB for one of them; CNI_ARGS of a pod with 100 addresses takes 5 KiB. */
export const environmentLimitBytes = 64 * 1024;

/** A result repeats the routes and name servers of the configuration, so it may be about as long as one. */
export const stdoutLimitBytes = 1024 * 1024;

/**
 * How long the shim waits for a reply. The kubelet gives up on a sandbox after 120 s or 240 s: what we say then is still read.
 * The daemon owns the deadlines of its work and answers well before this; the shim's own is for a daemon that hangs.
 */
export const replyWaitMs = 110_000;

export const defaultSocket = "/run/holdfast/cni.sock";

/** What the shim passes on, where it is set; nothing else of the environment leaves the process. */
export const passedVariables = [
  "CNI_COMMAND",
  "CNI_CONTAINERID",
  "CNI_NETNS",
  "CNI_IFNAME",
  "CNI_ARGS",
  "CNI_PATH",
] as const;
