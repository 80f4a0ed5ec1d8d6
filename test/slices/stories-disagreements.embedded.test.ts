import { embeddedServer } from "./embedded-server.ts";
import { sliceStories } from "./suite.ts";

sliceStories("embedded API", embeddedServer, { parts: ["disagreements"] });
