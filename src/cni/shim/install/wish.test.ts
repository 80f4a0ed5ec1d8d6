// From a demand to files.
import { describe, expect, test } from "vitest";

import { type Demand, wishOf } from "./wish.ts";

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
const native = { kind: "native" as const, content: new TextEncoder().encode("ELF") };
const demand = (more: Partial<Demand> = {}): Demand => ({
  binDir: "/opt/cni/bin",
  names: ["holdfast"],
  shim: native,
  socket: undefined,
  spool: undefined,
  confDir: "/etc/cni/net.d",
  conf: undefined,
  whereaboutsKubeconfig: undefined,
  force: false,
  ...more,
});
const files = (more: Partial<Demand>) =>
  wishOf(demand(more)).files.map(({ path, mode, content }) => [path, mode.toString(8), text(content)]);

test("the plugin under each of its names, once", () => {
  expect(files({ names: ["holdfast", "whereabouts", "holdfast"] })).toEqual([
    ["/opt/cni/bin/holdfast", "755", "ELF"],
    ["/opt/cni/bin/whereabouts", "755", "ELF"],
  ]);
});

describe("the socket", () => {
  test("of the daemon stands beside the plugin, before it", () => {
    expect(files({ socket: "/run/x.sock" })[0]).toEqual(["/opt/cni/bin/holdfast.socket", "644", "/run/x.sock\n"]);
    expect(wishOf(demand({ socket: "/run/x.sock" })).gone).toEqual(["/opt/cni/bin/holdfast.spool"]);
  });

  test.each([undefined, "/run/holdfast/cni.sock"])("needs no file where it is %s", (socket) => {
    expect(files({ socket })).toHaveLength(1);
    expect(wishOf(demand({ socket })).gone).toContain("/opt/cni/bin/holdfast.socket");
  });

  test.each(["x.sock", "/a\nb", `/${"a".repeat(107)}`, ""])("is not %j", (socket) => {
    expect(() => wishOf(demand({ socket }))).toThrow(/is no path of a socket/);
  });
});

describe("the spool", () => {
  test("of a daemon with a --state of its own stands beside the plugin", () => {
    expect(files({ spool: "/srv/state/spool" })[0]).toEqual([
      "/opt/cni/bin/holdfast.spool",
      "644",
      "/srv/state/spool\n",
    ]);
    expect(wishOf(demand({ spool: "/srv/state/spool" })).gone).toEqual(["/opt/cni/bin/holdfast.socket"]);
  });

  test.each([undefined, "/var/lib/holdfast/spool"])("needs no file where it is %s", (spool) => {
    expect(files({ spool })).toHaveLength(1);
    expect(wishOf(demand({ spool })).gone).toContain("/opt/cni/bin/holdfast.spool");
  });

  test.each(["spool", "/a\nb", ""])("is not %j", (spool) => {
    expect(() => wishOf(demand({ spool }))).toThrow(/is no path of a folder/);
  });
});

describe("the fallback", () => {
  const fallback = { kind: "fallback" as const, launcher: "#!/build/node\ncode();\n", nodeContent: undefined };

  test("runs on the host's Node", () => {
    expect(files({ shim: { ...fallback, nodePath: "/usr/bin/node" } })).toEqual([
      ["/opt/cni/bin/holdfast", "755", "#!/usr/bin/node\ncode();\n"],
    ]);
  });

  test("brings its Node along, which is there before it", () => {
    const shim = { ...fallback, nodePath: undefined, nodeContent: new TextEncoder().encode("NODE") };
    expect(files({ shim })).toEqual([
      ["/opt/cni/bin/holdfast-node", "755", "NODE"],
      ["/opt/cni/bin/holdfast", "755", "#!/opt/cni/bin/holdfast-node\ncode();\n"],
    ]);
  });

  test.each(["node", "/opt/my node/node", `/${"a".repeat(125)}`])("cannot begin with %j", (nodePath) => {
    expect(() => wishOf(demand({ shim: { ...fallback, nodePath } }))).toThrow(/cannot stand in the first line.*--node/);
  });
});

test.each(["", "a/b", "..", ".hidden", "holdfast.socket", "holdfast.spool", "holdfast-node", "a b"])(
  "a name is not %j",
  (name) => {
    expect(() => wishOf(demand({ names: ["holdfast", name] }))).toThrow(/is no name for the plugin/);
  },
);

describe("a network configuration", () => {
  const plugin = {
    cniVersion: "1.0.0",
    name: "blue",
    type: "macvlan",
    ipam: { type: "holdfast", range: "10.0.0.0/24" },
  };
  const single = JSON.stringify(plugin);
  const list = JSON.stringify({ cniVersion: "1.0.0", name: "blue", plugins: [plugin] });

  test("is the last to appear, as it is", () => {
    expect(files({ conf: { name: "/tmp/10-blue.conflist", text: list } }).at(-1)).toEqual([
      "/etc/cni/net.d/10-blue.conflist",
      "644",
      list,
    ]);
    expect(files({ conf: { name: "blue.conf", text: single } }).at(-1)?.[0]).toBe("/etc/cni/net.d/blue.conf");
  });

  test.each([
    ["blue.yaml", single, /end in .conflist, .conf or .json/],
    ["blue.conf", list, /must be in a file that ends in .conflist/],
    ["blue.conflist", single, /single plugin must be in a file that ends in .conf/],
    ["blue.conf", "{", /no configuration/],
    ["blue.conflist", '{"cniVersion":"1.0.0","name":"x","plugins":[]}', /none of plugins/],
  ])("%s is refused where runtimes would ignore or refuse it", (name, words, message) => {
    expect(() => wishOf(demand({ conf: { name, text: words } }))).toThrow(message);
  });
});

test("whereabouts' files: the credentials for root only, and a flat file that points to them", () => {
  expect(files({ whereaboutsKubeconfig: "kind: Config\n" }).slice(1)).toEqual([
    ["/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig", "600", "kind: Config\n"],
    [
      "/etc/cni/net.d/whereabouts.d/whereabouts.conf",
      "644",
      '{\n  "kubernetes": {\n    "kubeconfig": "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"\n  }\n}\n',
    ],
  ]);
});
