// What shim and daemon agree on besides the bytes: how much, how long, and where.

/** A few hundred ranges and an earlier result are some 100 KiB; a GC names 500 attachments in 60 KiB. */
export const stdinLimitBytes = 1024 * 1024;

/** Six variables. The kernel allows 128 KiB for one of them; CNI_ARGS of a pod with 100 addresses takes 5 KiB. */
export const environmentLimitBytes = 64 * 1024;

/** A result repeats the routes and name servers of the configuration, so it may be about as long as one. */
export const stdoutLimitBytes = 1024 * 1024;

/**
 * How long the shim waits for a reply. The kubelet gives up on a sandbox after 120 s or 240 s: it still reads our
 * answer. The daemon has deadlines of its own and answers well before this; the shim's is for a daemon that hangs.
 */
export const replyWaitMs = 110_000;

/**
 * How long it waits for a DEL, which it can keep itself: the daemon answers within some 18 s, even without the API
 * server. Ten interfaces of a pod are deleted one after another, and a runtime waits for all of them together.
 */
export const deleteWaitMs = 25_000;

export const defaultSocket = "/run/holdfast/cni.sock";

/** Where a DEL is kept that no daemon has done: on a disk, since a restart of the node must not lose it. */
export const defaultSpool = "/var/lib/holdfast/spool";

/** 250 pods with ten networks each, three times over: a drain, and what follows it. Usually 3 KB each, 25 MB. */
export const spoolLimitFiles = 8192;
export const spoolLimitBytes = 64 * 1024 * 1024;

/** One of them: the header and all variables fit; a configuration that does not is left out. */
export const spooledLimitBytes = environmentLimitBytes + 12;

/** What the shim passes on, where it is set; nothing else of the environment leaves the process. */
export const passedVariables = [
  "CNI_COMMAND",
  "CNI_CONTAINERID",
  "CNI_NETNS",
  "CNI_IFNAME",
  "CNI_ARGS",
  "CNI_PATH",
] as const;
