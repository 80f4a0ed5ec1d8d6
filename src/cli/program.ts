// The command tree of ./holdfast.
import { Command } from "commander";

export const version = "0.1.0";

export function program(): Command {
  return new Command("holdfast")
    .description("IP addresses for Kubernetes pods and KubeVirt virtual machines that stay with their owner.")
    .version(version, "-V, --version", "print the version")
    .showHelpAfterError("(`holdfast --help` lists the commands)");
}
