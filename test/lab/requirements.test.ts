// What a machine is told that lacks something.
import { expect, test } from "vitest";

import { requirePrograms } from "./requirements.ts";

test("a machine without the programs is told all of them, and what to install", () => {
  expect(() => requirePrograms(false, "/nowhere")).toThrow(
    /lacks openssl, setpriv, flock: on Debian, apt-get install .*containerd/,
  );
  expect(() => requirePrograms(true, "/nowhere")).toThrow(/flock, nsenter, .*containerd/);
});

test("this machine has what a control plane needs", () => {
  expect(() => requirePrograms(false)).not.toThrow();
});
