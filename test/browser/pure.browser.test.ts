// src/net and src/ipam in a real browser: bundled as they are, they tell the same story as in Node.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { build } from "esbuild";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { tellStory } from "./story.ts";

const steps = 3000;
let browser: Browser;
let profile: string;

beforeAll(async () => {
  profile = mkdtempSync(join(tmpdir(), "holdfast-browser-"));
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    env: { ...process.env, HOME: profile },
  });
});
afterAll(async () => {
  await browser?.close();
  rmSync(profile, { recursive: true, force: true });
});

describe("the browser-safe folders", () => {
  it("decide in Chromium what they decide in Node", async () => {
    const bundle = await build({
      entryPoints: [join(import.meta.dirname, "story.ts")],
      bundle: true,
      write: false,
      platform: "browser",
      format: "iife",
      globalName: "story",
      logLevel: "silent",
    });
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.addScriptTag({ content: bundle.outputFiles[0]!.text });
    const told = await page.evaluate(`story.tellStory(${steps})`);
    expect(errors).toEqual([]);
    const expected = tellStory(steps);
    expect(expected.length).toBeGreaterThan(2 * steps);
    expect(told).toEqual(expected);
  });
});
