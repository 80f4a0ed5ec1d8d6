import { describe, expect, it } from "vitest";

import { controllerCommand, type ControllerOptions } from "./controller.ts";

async function optionsOf(...flags: readonly string[]): Promise<ControllerOptions> {
  let seen: ControllerOptions | undefined;
  const output = { write: () => {}, writeError: () => {} } as unknown as Parameters<typeof controllerCommand>[0];
  const command = controllerCommand(output, async (options) => void (seen = options)).exitOverride();
  command.configureOutput({ writeErr: () => {} });
  await command.parseAsync(flags, { from: "user" });
  return seen!;
}

describe("holdfast controller", () => {
  it("makes claims for every VM on a network that allows it, unless told otherwise", async () => {
    expect(await optionsOf()).toMatchObject({ persistentIps: "on", persistentIpsLabel: false });
  });

  it.each(["on", "off", "kubevirt"])("--persistent-ips %s", async (when) => {
    expect(await optionsOf("--persistent-ips", when)).toMatchObject({ persistentIps: when });
  });

  it("--persistent-ips-label demands the label", async () => {
    expect(await optionsOf("--persistent-ips-label")).toMatchObject({ persistentIpsLabel: true });
  });

  it("refuses another word", async () => {
    await expect(optionsOf("--persistent-ips", "maybe")).rejects.toThrow(/on, off, kubevirt/);
  });

  it.each([
    [["--cooldown-seconds", "45"], { cooldownMs: 45_000 }],
    [["--slice-quarantine-hours", "2"], { sliceQuarantineMs: 7_200_000 }],
    [["--max-slices-per-namespace", "7"], { maxSlicesPerNamespace: 7, maxSlicedRangesPerDefinition: 16 }],
    [["--trusted-namespaces", "a, b,"], { trustedNamespaces: ["a", "b"] }],
    [["--whereabouts-silent-minutes", "3"], { whereaboutsSilentMs: 180_000 }],
  ])("%j", async (flags, options) => {
    expect(await optionsOf(...flags)).toMatchObject(options);
  });
});
