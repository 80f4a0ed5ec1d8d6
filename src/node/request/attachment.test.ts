// Order of the work for one attachment, and that a DEL calls the ADD before it off.
import { expect, it } from "vitest";

import { Attachments } from "./attachment.ts";

const one = { containerId: "c", interfaceName: "eth0" };
const never = new AbortController().signal;

it("goes one after another, and different attachments do not wait for each other", async () => {
  const attachments = new Attachments();
  const story: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = attachments.check(one, never, async () => {
    await gate.promise;
    story.push("first");
  });
  const second = attachments.check(one, never, async () => void story.push("second"));
  await attachments.check({ ...one, interfaceName: "eth1" }, never, async () => void story.push("other"));
  gate.resolve();
  await Promise.all([first, second]);
  expect([story, attachments.isBusy(one)]).toEqual([["other", "first", "second"], false]);
});

it("a DEL calls off the ADD that runs, and comes after it", async () => {
  const attachments = new Attachments();
  const story: string[] = [];
  const begun = Promise.withResolvers<void>();
  const adding = attachments.add(one, never, async (signal) => {
    begun.resolve();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    story.push("called off");
  });
  await begun.promise;
  await attachments.delete(one, never, async () => void story.push("deleted"));
  await adding;
  expect(story).toEqual(["called off", "deleted"]);
});

it("who is called off while waiting leaves, and those behind still wait for those before", async () => {
  const attachments = new Attachments();
  const story: string[] = [];
  const gate = Promise.withResolvers<void>();
  const stop = new AbortController();
  const first = attachments.check(one, never, async () => {
    await gate.promise;
    story.push("first");
  });
  const second = attachments.check(one, stop.signal, async () => void story.push("second"));
  const third = attachments.check(one, never, async () => void story.push("third"));
  stop.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  gate.resolve();
  await Promise.all([first, third]);
  expect(story).toEqual(["first", "third"]);
});

it("an ADD that is called off before its turn does nothing", async () => {
  const attachments = new Attachments();
  const story: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = attachments.check(one, never, () => gate.promise);
  const adding = attachments.add(one, never, async () => void story.push("added"));
  const deleting = attachments.delete(one, never, async () => void story.push("deleted"));
  gate.resolve();
  await expect(adding).rejects.toThrow("is being deleted");
  await Promise.all([first, deleting]);
  expect(story).toEqual(["deleted"]);
});
