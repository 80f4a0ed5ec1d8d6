import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";

import { describe, expect, test, vi } from "vitest";

import { ManualClock } from "../testing/manual-clock.ts";
import { ConfigError } from "./credentials.ts";
import type { RunPlugin } from "./exec-credential.ts";
import { loadInClusterConfig } from "./in-cluster.ts";
import { type KubeconfigOptions, loadKubeconfig } from "./kubeconfig.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Loads a config whose only user and cluster are given, from files in memory. */
async function load(
  cluster: object,
  user: object,
  more: { files?: Record<string, string>; place?: object } & Partial<KubeconfigOptions> = {},
) {
  const config = {
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "c", user: "u", ...more.place } }],
    clusters: [{ name: "c", cluster: { server: "https://h:6443", ...cluster } }],
    users: [{ name: "u", user }],
  };
  const files: Record<string, string> = { "/etc/k/config": JSON.stringify(config), ...more.files };
  const read = (path: string) =>
    files[path] === undefined ? Promise.reject(new Error(`ENOENT ${path}`)) : Promise.resolve(files[path]);
  const clock = new ManualClock();
  const loaded = await loadKubeconfig({ path: "/etc/k/config", read, clock, ...more });
  return { config: loaded, clock, files };
}

test("a file that is not YAML is told by line, without its words: they may be a token", async () => {
  const text = "users:\n- name: u\n  user:\n    token: s3cr3t: t0k3n\n";
  const read = () => Promise.resolve(text);
  const error: unknown = await loadKubeconfig({ path: "/etc/k/config", read }).catch((each: unknown) => each);
  expect(error).toBeInstanceOf(ConfigError);
  expect(inspect(error)).toMatch(/not YAML.*line 4/);
  expect(inspect(error, { depth: null })).not.toMatch(/s3cr3t|t0k3n/);
});

describe("clusters", () => {
  test("a server without TLS is refused like one that is not verified: the token would go out in the clear", async () => {
    const plain = { server: "http://h:8080" };
    await expect(load(plain, { token: "t" })).rejects.toThrow(/not https/);
  });

  test("authority inline, server name, default namespace", async () => {
    const { config } = await load(
      { "certificate-authority-data": base64("CA"), "tls-server-name": "api.internal" },
      {},
    );
    expect(config).toMatchObject({
      server: "https://h:6443",
      ca: "CA",
      serverName: "api.internal",
      namespace: "default",
    });
  });

  test("authority by a path relative to the file; inline data wins", async () => {
    const files = { "/etc/k/pki/ca.crt": "FILE" };
    expect((await load({ "certificate-authority": "pki/ca.crt" }, {}, { files })).config.ca).toBe("FILE");
    const both = { "certificate-authority": "pki/ca.crt", "certificate-authority-data": base64("DATA") };
    expect((await load(both, {}, { files })).config.ca).toBe("DATA");
  });

  test("insecure-skip-tls-verify is refused", async () => {
    const cluster = { "insecure-skip-tls-verify": true };
    await expect(load(cluster, {})).rejects.toThrow(/insecure-skip-tls-verify/);
  });

  test("the namespace of the context", async () => {
    expect((await load({}, {}, { place: { namespace: "net" } })).config.namespace).toBe("net");
  });

  test.each([
    ["no such context", { context: "y" }, /no context "y"/],
    ["no such file", { path: "/nowhere" }, /no kubeconfig at \/nowhere/],
  ])("%s is told", async (_name, options, words) => {
    await expect(load({}, {}, options as never)).rejects.toThrow(words);
  });

  test.each([
    ["not YAML", "a: [", /not YAML/],
    ["empty", "", /empty/],
    ["without a context", "kind: Config", /no current-context/],
    [
      "a context without its cluster",
      "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]",
      /no cluster "c"/,
    ],
    [
      "a server that is no URL",
      "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: here}}]",
      /no valid server/,
    ],
  ])("a file that is %s is told", async (_name, text, words) => {
    await expect(loadKubeconfig({ path: "/f", read: () => Promise.resolve(text) })).rejects.toThrow(words);
  });

  test.each([
    ["/from/env", "/from/env"],
    ["", join(homedir(), ".kube", "config")],
  ])("without a path: KUBECONFIG=%j reads %s", async (variable, expected) => {
    vi.stubEnv("KUBECONFIG", variable);
    await expect(loadKubeconfig({ read: () => Promise.reject(new Error("ENOENT")) })).rejects.toThrow(
      `no kubeconfig at ${expected}`,
    );
    vi.unstubAllEnvs();
  });

  test("several files: the first that names a thing wins, missing ones are passed over", async () => {
    const files: Record<string, string> = {
      "/one/a": "clusters: [{name: c, cluster: {server: 'https://first', certificate-authority: ca.crt}}]",
      "/two/b":
        "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'https://second'}}]",
      "/one/ca.crt": "ONE",
    };
    const read = (path: string) =>
      files[path] === undefined ? Promise.reject(new Error("ENOENT")) : Promise.resolve(files[path]);
    const config = await loadKubeconfig({ path: "/missing:/one/a:/two/b", read });
    expect(config).toMatchObject({ server: "https://first", ca: "ONE" });
  });
});

describe("users", () => {
  test("token, and basic", async () => {
    expect(await (await load({}, { token: "t" })).config.credentials.current()).toMatchObject({
      headers: { authorization: "Bearer t" },
    });
    const basic = await (await load({}, { username: "u", password: "p" })).config.credentials.current();
    expect(basic.headers).toEqual({ authorization: `Basic ${base64("u:p")}` });
  });

  test("certificate inline and by path; one without the other is refused", async () => {
    const files = { "/etc/k/key.pem": "KEY" };
    const { config } = await load(
      {},
      { "client-certificate-data": base64("CERT"), "client-key": "key.pem" },
      { files },
    );
    expect(await config.credentials.current()).toMatchObject({ cert: "CERT", key: "KEY", headers: {} });
    const half = await load({}, { "client-certificate-data": base64("CERT") });
    await expect(half.config.credentials.current()).rejects.toThrow(/belong together/);
  });

  test("a token file is read again after a minute, and at once after a 401", async () => {
    const { config, clock, files } = await load({}, { tokenFile: "token" }, { files: { "/etc/k/token": "one\n" } });
    const token = async () => (await config.credentials.current()).headers["authorization"];
    expect(await token()).toBe("Bearer one");
    files["/etc/k/token"] = "two";
    expect(await token()).toBe("Bearer one");
    await clock.advance(60_000);
    expect(await token()).toBe("Bearer two");
    files["/etc/k/token"] = "three";
    config.credentials.reject(await config.credentials.current());
    expect(await token()).toBe("Bearer three");
    delete files["/etc/k/token"]; // being replaced just now
    await clock.advance(60_000);
    expect(await token()).toBe("Bearer three");
  });

  test("a removed auth-provider is told", async () => {
    await expect(load({}, { "auth-provider": { name: "gcp" } })).rejects.toThrow(/exec plugin/);
  });
});

describe.each(["v1", "v1beta1"])("exec plugins, %s", (version) => {
  const apiVersion = `client.authentication.k8s.io/${version}`;
  const exec = {
    apiVersion,
    command: "get-token",
    args: ["-q"],
    env: [{ name: "A", value: "b" }],
    provideClusterInfo: true,
  };

  async function withPlugin(statuses: object[], settings: object = exec) {
    const runs: Parameters<RunPlugin>[] = [];
    const runPlugin: RunPlugin = (...call) => {
      runs.push(call);
      return Promise.resolve(JSON.stringify({ apiVersion, kind: "ExecCredential", status: statuses[runs.length - 1] }));
    };
    return { runs, ...(await load({ "certificate-authority-data": base64("CA") }, { exec: settings }, { runPlugin })) };
  }

  test("are asked with what they need, once, until the token expires", async () => {
    const startMs = new ManualClock().wallMs();
    const { runs, config, clock } = await withPlugin([
      { token: "one", expirationTimestamp: new Date(startMs + 60_000).toISOString() },
      { token: "two" },
    ]);
    const both = await Promise.all([config.credentials.current(), config.credentials.current()]);
    expect(both.map(({ headers }) => headers["authorization"])).toEqual(["Bearer one", "Bearer one"]);
    expect(runs).toHaveLength(1);
    const [command, args, env] = runs[0]!;
    expect([command, args, env["A"]]).toEqual(["get-token", ["-q"], "b"]);
    expect(JSON.parse(env["KUBERNETES_EXEC_INFO"]!)).toEqual({
      apiVersion,
      kind: "ExecCredential",
      spec: { interactive: false, cluster: { server: "https://h:6443", "certificate-authority-data": base64("CA") } },
    });
    await clock.advance(49_000);
    expect((await config.credentials.current()).headers["authorization"]).toBe("Bearer one");
    await clock.advance(1000);
    expect((await config.credentials.current()).headers["authorization"]).toBe("Bearer two");
    await clock.advance(3_600_000);
    await config.credentials.current();
    expect(runs).toHaveLength(2);
  });

  test("are asked again after a 401", async () => {
    const { runs, config } = await withPlugin([{ token: "one" }, { token: "two" }]);
    config.credentials.reject(await config.credentials.current());
    expect((await config.credentials.current()).headers["authorization"]).toBe("Bearer two");
    expect(runs).toHaveLength(2);
  });

  test("may give a certificate", async () => {
    const { config } = await withPlugin([{ clientCertificateData: "CERT", clientKeyData: "KEY" }]);
    expect(await config.credentials.current()).toEqual({ headers: {}, cert: "CERT", key: "KEY" });
  });

  test("that print something else are told of without what they printed: it may be a token", async () => {
    const config = await load({}, { exec }, { runPlugin: () => Promise.resolve("s3cr3t") });
    const error: unknown = await config.config.credentials.current().catch((each: unknown) => each);
    expect(error).toBeInstanceOf(ConfigError);
    expect(inspect(error, { depth: null })).not.toContain("s3cr3t");
  });

  test("are not asked where a token is given, as kubectl does it", async () => {
    const runPlugin = vi.fn<RunPlugin>();
    const { config } = await load({}, { exec, token: "given" }, { runPlugin });
    expect((await config.credentials.current()).headers["authorization"]).toBe("Bearer given");
    expect(runPlugin).not.toHaveBeenCalled();
  });

  test("that give nothing, or need a terminal, or speak otherwise, are told", async () => {
    await expect((await withPlugin([{}])).config.credentials.current()).rejects.toThrow(
      /neither a token nor a certificate/,
    );
    await expect(withPlugin([], { ...exec, interactiveMode: "Always" })).rejects.toThrow(/terminal/);
    await expect(withPlugin([], { ...exec, apiVersion: "client.authentication.k8s.io/v1alpha1" })).rejects.toThrow(
      /v1alpha1/,
    );
  });
});

test("a real plugin is run, by a path relative to the file; one that fails is told with its words and the hint", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-kubeconfig-"));
  try {
    const apiVersion = "client.authentication.k8s.io/v1";
    const answer = JSON.stringify({ apiVersion, kind: "ExecCredential", status: { token: "real" } });
    writeFileSync(join(folder, "good"), `#!/bin/sh\ncat > /dev/null\necho '${answer}'\n`, { mode: 0o755 });
    writeFileSync(join(folder, "bad"), "#!/bin/sh\necho 'no session' >&2\nexit 3\n", { mode: 0o755 });
    const config = (command: string) =>
      `current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://h"}}]
users: [{name: u, user: {exec: {apiVersion: ${apiVersion}, command: ${command}, installHint: Log in first.}}}]`;
    const path = join(folder, "config");
    writeFileSync(path, config("./good"));
    const good = await loadKubeconfig({ path });
    expect((await good.credentials.current()).headers["authorization"]).toBe("Bearer real");
    writeFileSync(path, config("./bad"));
    const bad = await loadKubeconfig({ path });
    await expect(bad.credentials.current()).rejects.toThrow(/no session.*Log in first\./s);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("in a pod", () => {
  const folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };

  test("token, authority and namespace are read; the token again", async () => {
    const files: Record<string, string> = {
      [`${folder}/token`]: "one",
      [`${folder}/ca.crt`]: "CA",
      [`${folder}/namespace`]: "net\n",
    };
    const clock = new ManualClock();
    const read = (path: string) => Promise.resolve(files[path]!);
    const config = await loadInClusterConfig({ env, read, clock });
    expect(config).toMatchObject({ server: "https://10.96.0.1:443", ca: "CA", namespace: "net" });
    files[`${folder}/token`] = "two";
    await clock.advance(60_000);
    expect((await config.credentials.current()).headers["authorization"]).toBe("Bearer two");
  });

  test("an IPv6 address is bracketed", async () => {
    const config = await loadInClusterConfig({
      env: { ...env, KUBERNETES_SERVICE_HOST: "fd00::1" },
      read: () => Promise.resolve("x"),
    });
    expect(config.server).toBe("https://[fd00::1]:443");
  });

  test("outside of a pod, and without a token, it is told", async () => {
    await expect(loadInClusterConfig({ env: {} })).rejects.toThrow(ConfigError);
    await expect(loadInClusterConfig({ env, read: () => Promise.reject(new Error("ENOENT")) })).rejects.toThrow(
      /automount/,
    );
  });
});
