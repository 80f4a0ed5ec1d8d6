// The delegating plugin by itself: an API server of a few lines, plugins that note how they are called, and a story of
// calls. Run with ours and with the real Multus, the notes are the same.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { attempt } from "../command.ts";
import { until } from "../wait.ts";
import { statusAnnotation } from "./status.ts";

export interface Story {
  /** The pod's annotation. */
  readonly networks: string;
  /** What the runtime asks, in order. */
  readonly commands: readonly string[];
  /** Plugins that fail, as in `DEL third`. */
  readonly failing?: readonly string[];
  /** More of the plugin's own configuration. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The pod goes after so many commands. */
  readonly podGoneAfter?: number;
}

/** One call of one plugin, as the plugin saw it. */
interface Noted {
  readonly plugin: string;
  readonly command: string;
  readonly interface: string;
  readonly args: string;
  readonly path: string;
  /** Byte for byte: the order of keys counts too. */
  readonly stdin: string;
}

export interface Told {
  /** Exit status of each command. */
  readonly statuses: readonly (number | null)[];
  readonly calls: readonly Noted[];
  /** What was written to the pod, each as its text. */
  readonly written: readonly string[];
}

const namespace = "pods";
/** Key: namespace/name. */
const definitions: Readonly<Record<string, unknown>> = {
  "pods/list": {
    cniVersion: "1.0.0",
    name: "list-net",
    plugins: [
      { type: "first", capabilities: { ips: true }, zeta: 1, alpha: 2 },
      { type: "second", capabilities: { mac: true } },
    ],
  },
  "pods/old": {
    cniVersion: "0.3.1",
    name: "old-net",
    type: "third",
    capabilities: { ips: true, mac: true },
    args: { cni: { kept: true } },
  },
  "pods/bare": { type: "third" },
  "pods/bad": { cniVersion: "1.0.0", name: "bad-net", type: "bad" },
  "pods/absent": { cniVersion: "1.0.0", name: "absent-net", type: "no-such-plugin" },
  "other/far": { cniVersion: "1.0.0", name: "far-net", type: "third" },
};
const addresses = { eth: "10.88.1.2/24", first: "10.1.0.2/24", second: "10.1.0.2/24", third: "10.42.0.5/24", bad: "" };

export async function tell(program: string, story: Story): Promise<Told> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-story-"));
  const sandbox = spawn("/usr/bin/unshare", ["--net", "sleep", "infinity"], { stdio: "ignore" });
  const api = new StageApi(story);
  try {
    await until(async () => namespaceOf(sandbox.pid) !== namespaceOf("self"), { what: "the sandbox's namespace" });
    const kubeconfig = await api.listen(folder);
    await writePlugins(folder, story.failing ?? []);
    const statuses: (number | null)[] = [];
    for (const [index, command] of story.commands.entries()) {
      api.isPodGone = index >= (story.podGoneAfter ?? Number.POSITIVE_INFINITY);
      statuses.push(await invoke(program, command, { folder, kubeconfig, sandbox, settings: story.settings }));
    }
    return { statuses, calls: notesIn(folder), written: api.written };
  } finally {
    sandbox.kill("SIGKILL");
    await api.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function namespaceOf(pid: number | string | undefined): string {
  return readlinkSync(`/proc/${pid}/ns/net`);
}

interface Fixture {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly sandbox: ChildProcess;
  readonly settings: Story["settings"];
}

async function invoke(program: string, command: string, fixture: Fixture): Promise<number | null> {
  const { folder, kubeconfig, sandbox, settings } = fixture;
  const bin = join(folder, "bin");
  const config = {
    cniVersion: "1.0.0",
    name: "lab",
    type: "delegating",
    kubeconfig,
    cniDir: join(folder, "cache"),
    binDir: bin,
    delegates: [{ cniVersion: "1.0.0", name: "lab", plugins: [{ type: "eth" }] }],
    ...settings,
  };
  const { status } = await attempt([program], {
    input: JSON.stringify(config),
    env: {
      PATH: process.env["PATH"],
      CNI_COMMAND: command,
      CNI_CONTAINERID: "box",
      CNI_NETNS: `/proc/${sandbox.pid}/ns/net`,
      CNI_IFNAME: "eth0",
      // As containerd orders it.
      CNI_ARGS: `K8S_POD_NAME=web;K8S_POD_INFRA_CONTAINER_ID=box;K8S_POD_UID=uid-1;IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace}`,
      CNI_PATH: bin,
    },
  });
  return status;
}

async function writePlugins(folder: string, failing: readonly string[]): Promise<void> {
  for (const name of ["bin", "notes"]) mkdirSync(join(folder, name));
  for (const [name, address] of Object.entries(addresses)) {
    const fails = [...failing, "ADD bad"].filter((each) => each.endsWith(` ${name}`));
    writeFileSync(join(folder, "bin", name), plugin(folder, name, address, fails), { mode: 0o755 });
  }
}

function plugin(folder: string, name: string, address: string, failing: readonly string[]): string {
  const result = JSON.stringify({
    cniVersion: "VERSION",
    interfaces: [
      { name: "host-end", mac: "0a:00:00:00:00:99" },
      { name: "IFNAME", mac: "0a:00:00:00:00:02", sandbox: "/run/netns/box" },
    ],
    ips: [{ address, interface: 1 }],
    ...(name === "eth" && { routes: [{ dst: "0.0.0.0/0" }] }),
    dns: {},
  });
  return `#!/bin/sh
if [ "$CNI_COMMAND" = VERSION ]; then echo '{"cniVersion":"1.0.0","supportedVersions":["0.3.1","0.4.0","1.0.0"]}'; exit 0; fi
note=${folder}/notes/$(ls ${folder}/notes | wc -l | xargs printf %03d)
mkdir $note
cat > $note/stdin
printf '%s\\n' ${name} "$CNI_COMMAND" "$CNI_IFNAME" "$CNI_ARGS" "$CNI_PATH" > $note/how
for each in ${failing.map((each) => each.split(" ")[0]).join(" ")}; do
  if [ "$CNI_COMMAND" = $each ]; then echo '{"cniVersion":"1.0.0","code":11,"msg":"cannot","details":"now"}'; exit 1; fi
done
version=$(grep -o '"cniVersion":"[^"]*"' $note/stdin | head -1 | cut -d'"' -f4)
[ "$CNI_COMMAND" = ADD ] && echo '${result}' | sed "s/IFNAME/$CNI_IFNAME/;s/VERSION/\${version:-0.1.0}/"
exit 0
`;
}

function notesIn(folder: string): Noted[] {
  const notes = join(folder, "notes");
  if (!existsSync(notes)) return [];
  return readdirSync(notes)
    .sort()
    .map((name) => {
      const [plugin_ = "", command = "", on = "", args = "", path = ""] = readFileSync(join(notes, name, "how"), "utf8")
        .replaceAll(folder, "STAGE")
        .split("\n");
      const stdin = readFileSync(join(notes, name, "stdin"), "utf8").replaceAll(folder, "STAGE");
      return { plugin: plugin_, command, interface: on, args, path, stdin };
    });
}

class StageApi {
  readonly written: string[] = [];
  isPodGone = false;
  readonly #server: Server;

  constructor({ networks }: Story) {
    const metadata = { name: "web", namespace, uid: "uid-1", resourceVersion: "5" };
    const annotations = { "k8s.v1.cni.cncf.io/networks": networks };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, annotations }, spec: {}, status: {} };
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      const body = await text(request);
      const path = (request.url ?? "").split("?")[0] ?? "";
      if (path.endsWith("/pods/web/status")) this.written.push(statusIn(body));
      const found = path.includes("/pods/web") && !this.isPodGone ? pod : definitionAt(path);
      const missing = { apiVersion: "v1", kind: "Status", status: "Failure", reason: "NotFound", code: 404 };
      response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(found ?? { ...missing, message: "not found" }));
    };
    this.#server = createServer((request, response) => void answer(request, response));
  }

  async listen(folder: string): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const file = join(folder, "kubeconfig");
    const cluster = { server: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "stage", cluster }],
      users: [{ name: "stage", user: { token: "t" } }],
      contexts: [{ name: "stage", context: { cluster: "stage", user: "stage" } }],
      "current-context": "stage",
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function definitionAt(path: string): object | undefined {
  const [, at = "", name = ""] = /\/namespaces\/([^/]+)\/network-attachment-definitions\/([^/]+)$/.exec(path) ?? [];
  const config = definitions[`${at}/${name}`];
  if (config === undefined) return undefined;
  const kind = { apiVersion: "k8s.cni.cncf.io/v1", kind: "NetworkAttachmentDefinition" };
  return { ...kind, metadata: { name, namespace: at }, spec: { config: JSON.stringify(config) } };
}

/** The annotation's text: in the JSON of a patch, or inside the protobuf that a Go client sends. */
function statusIn(body: string): string {
  if (!body.startsWith("{")) return body.slice(body.indexOf("[{"), body.indexOf("}]") + 2);
  const { metadata } = JSON.parse(body) as { metadata: { annotations: Record<string, string> } };
  return metadata.annotations[statusAnnotation] ?? "";
}
