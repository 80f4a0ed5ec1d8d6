// The machine that a daemon runs on: its clock, disk and kernel. Tests replace the parts that they want to control.
import { flatFileFolders } from "../cni/config/merge.ts";
import { realClock } from "../kube/clock.ts";
import type { DaemonOptions } from "./context.ts";
import { namespaceId } from "./kernel/namespace.ts";
import { peerCredentials } from "./kernel/peer-credentials.ts";
import { probeDuplicate } from "./kernel/probe.ts";
import { shutLinks } from "./kernel/shut.ts";
import { realDisk } from "./request/flat-file.ts";

export const realMachine = {
  clock: realClock,
  random: () => Math.random(), // asked for at each call: a test may put its own in its place
  disk: realDisk,
  folders: flatFileFolders,
  probe: probeDuplicate,
  fencing: { identify: namespaceId, shut: shutLinks },
  peerUid: (socket) => peerCredentials(socket).uid,
  ownUid: process.getuid?.() ?? 0,
} satisfies Partial<DaemonOptions>;
