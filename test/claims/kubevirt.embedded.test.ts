import { embeddedServer } from "../slices/embedded-server.ts";
import { kubevirtStories } from "./kubevirt-suite.ts";

kubevirtStories("embedded API", embeddedServer);
