// A user's pod, no launcher, that asks for addresses by its annotation: with a claim made by hand, or with another's.
import { Launcher } from "../kubevirt/launcher.ts";
import { type Element, networksAnnotation, pods } from "../kubevirt/objects.ts";
import type { StoryFixture } from "./fixture.ts";

/** Bound, and not attached yet: `kubelet.run` does that. */
export async function userPod(
  fixture: StoryFixture,
  more: Partial<Element> = {},
  node = fixture.node(1).name,
): Promise<Launcher> {
  const { namespace } = fixture;
  const element = { name: "blue", namespace, interface: "net1", ...more };
  const { metadata } = await fixture.admin.create(pods, {
    metadata: { generateName: "user-", namespace, annotations: { [networksAnnotation]: JSON.stringify([element]) } },
    spec: { restartPolicy: "Never", containers: [{ name: "c", image: "none" }], automountServiceAccountToken: false },
  });
  const { name = "", uid = "" } = metadata;
  const pod = new Launcher({ namespace, name, uid, vmiUid: "", scheme: "ordinal" });
  await fixture.kubevirt.virt.kubelet.bind(pod, node);
  return pod;
}
