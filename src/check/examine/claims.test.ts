// What `holdfast check` says about claims: what fits, and each thing that does not, with its remedy.
import { describe, expect, it, test } from "vitest";

import {
  blue,
  claim,
  definition,
  heldFor,
  instance,
  launcher,
  machine,
  scene,
  type SceneParts,
  user,
} from "../../claims/moves/testing/snapshot.ts";
import { examineClaims } from "./claims.ts";

const vm = machine("vm-1");
const vmi = instance("vmi-1", vm);
const pod = launcher("p1", vmi, ["blue"]);
const shown = claim({ uid: "c1", ips: ["10.0.0.7/24"] });
const own = heldFor("10.0.0.7", "c1");
const theirs = (metadata: object = {}) =>
  claim({
    uid: "c5",
    metadata: { annotations: {}, labels: {}, finalizers: ["kubevirt.io/persistent-ipam"], ...metadata },
    ips: ["10.0.0.9/24"],
  });
const running = { isRunning: true, objects: ["Deployment a/b"], why: ["Deployment a/b is its Deployment."] };

const told = (parts: SceneParts) =>
  examineClaims(scene({ machines: [vm], ...parts })).map(({ code, severity }) => `${severity} ${code}`);

describe("claims", () => {
  test.each<[string, SceneParts, string[]]>([
    ["nothing is there", { machines: [] }, []],
    ["a claim that has what it shows", { claims: [shown], held: [own] }, []],
    ["a claim that shows nothing yet", { claims: [claim({ uid: "c1" })] }, []],
    ["one that shows what nobody holds", { claims: [shown] }, ["error claim-without-hold"]],
    [
      "one that shows what another holds",
      { claims: [shown], held: [heldFor("10.0.0.7", "c9", { name: "web.blue" })] },
      ["error claim-contradicted"],
    ],
    [
      "one that shows what is in no range",
      { claims: [claim({ uid: "c1", ips: ["10.7.0.1/24"] })] },
      ["error claim-contradicted"],
    ],
    [
      "one that is being deleted shows what was freed",
      { claims: [claim({ uid: "c1", ips: ["10.0.0.7/24"], metadata: { deletionTimestamp: "x" } })] },
      [],
    ],
    [
      "another IPAM's address",
      { machines: [machine("vm-1", ["ovn"])], claims: [claim({ uid: "c1", nic: "ovn", ips: ["10.9.0.7/24"] })] },
      [],
    ],
    [
      "two claims that show one address",
      { claims: [shown, claim({ uid: "c2", name: "web.blue", owner: "", ips: ["10.0.0.7/24"] })], held: [own] },
      ["error claim-contradicted", "error claims-share-address"],
    ],
    ["a claim whose owner is gone", { machines: [], claims: [claim({ uid: "c1" })] }, ["warning dead-owner"]],
    [
      "a claim whose owner is gone and whose pod runs on",
      {
        machines: [],
        claims: [claim({ uid: "c1" })],
        held: [heldFor("10.0.0.7", "c1", { users: [user(pod)] })],
        pods: [pod],
      },
      [],
    ],
    ["a claim made by hand", { machines: [], claims: [claim({ uid: "c1", owner: "", name: "stake" })] }, []],
    ["claims of ipam-extensions that were left", { claims: [theirs()] }, ["warning foreign-claims"]],
    ["ipam-extensions beside us", { extensions: running }, ["error two-systems"]],
    [
      "ipam-extensions alone",
      { extensions: running, gate: { gate: "off", needsLabel: false } },
      ["warning two-systems"],
    ],
    [
      "a claim that a finalizer of ipam-extensions keeps, which is not there",
      { claims: [theirs({ deletionTimestamp: "x", annotations: { "holdfast.io/claim-owner": "vm-1" } })] },
      ["error stray-finalizer"],
    ],
    [
      "the same while ipam-extensions runs",
      {
        claims: [theirs({ deletionTimestamp: "x", annotations: { "holdfast.io/claim-owner": "vm-1" } })],
        extensions: running,
      },
      ["error two-systems"],
    ],
    [
      "a claim that another's finalizer keeps",
      { claims: [claim({ uid: "c1", metadata: { deletionTimestamp: "x", finalizers: ["a/b"] } })] },
      ["warning stray-finalizer"],
    ],
    [
      "a claim that garbage collection is at",
      { claims: [claim({ uid: "c1", metadata: { deletionTimestamp: "x", finalizers: ["foregroundDeletion"] } })] },
      [],
    ],
    ["no kind for what definitions allow", { hasClaims: false }, ["error no-claim-kind"]],
    ["no kind, and nothing allows it", { hasClaims: false, definitions: [definition("red", {})] }, []],
    [
      "a definition that asks for what cannot be",
      { definitions: [definition("red", { topology: "layer3", allowPersistentIPs: true })] },
      ["warning persistence-refused"],
    ],
  ])("%s", (_, parts, expected) => {
    expect(told(parts)).toEqual(expected);
  });

  it("what it would hold again is the claim's, with the pods that use it", () => {
    const [finding] = examineClaims(scene({ machines: [vm], claims: [shown], instances: [vmi], pods: [pod] }));
    expect(finding?.repair).toMatchObject({
      kind: "hold-for-claim",
      move: {
        claim: { kind: "none", claim: { metadata: { uid: "c1" } } },
        take: [{ place: { domain: "network:", pool: "kube-system/10.0.0.0-24" } }],
        note: { identity: "vm-1/blue" },
        users: [{ uid: "p1", name: "virt-launcher-db-p1", node: "n1" }],
      },
    });
  });

  it("every finding names an object and says what to do", () => {
    const parts: SceneParts = {
      machines: [vm],
      claims: [shown, theirs(), claim({ uid: "c3", owner: "vm-0", name: "x.blue" })],
      extensions: running,
      definitions: [blue, definition("red", { topology: "layer3", allowPersistentIPs: true })],
    };
    for (const { objects, message, remedy } of examineClaims(scene(parts))) {
      expect(objects.length).toBeGreaterThan(0);
      expect([message, remedy].every((each) => /^[A-Za-z0-9].*\.$/s.test(each))).toBe(true);
    }
  });
});
