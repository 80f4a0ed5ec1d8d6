// The programs a real cluster is made of, as Go packages of the module in tools/kube/module.

export interface Program {
  readonly name: ProgramName;
  /** The Go package that `go build` is given. */
  readonly package: string;
}

export type ProgramName =
  | "etcd"
  | "kube-apiserver"
  | "kubectl"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "kubelet"
  | "cnitool";

/** In build order: what most suites wait for comes first. */
export const programs: readonly Program[] = [
  { name: "etcd", package: "go.etcd.io/etcd/server/v3" },
  { name: "kube-apiserver", package: "k8s.io/kubernetes/cmd/kube-apiserver" },
  { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl" },
  { name: "kube-controller-manager", package: "k8s.io/kubernetes/cmd/kube-controller-manager" },
  { name: "kube-scheduler", package: "k8s.io/kubernetes/cmd/kube-scheduler" },
  { name: "kubelet", package: "k8s.io/kubernetes/cmd/kubelet" },
  { name: "cnitool", package: "github.com/containernetworking/cni/cnitool" },
];

const stamp = (key: string, value: string) => `-X k8s.io/component-base/version.${key}=${value}`;

/** Arguments of `go build` before output and package. Without version flags kubectl and discovery report v0.0.0. */
export function buildFlags(kubernetesVersion: string): string[] {
  const [major = "", minor = ""] = kubernetesVersion.replace(/^v/, "").split(".");
  const linker = [
    "-s",
    "-w",
    stamp("gitVersion", kubernetesVersion),
    stamp("gitMajor", major),
    stamp("gitMinor", minor),
  ].join(" ");
  return ["build", "-trimpath", "-buildvcs=false", "-ldflags", linker];
}
