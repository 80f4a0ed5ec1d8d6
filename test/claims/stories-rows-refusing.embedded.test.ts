import { refusing } from "./stories/refusing.ts";
import { onEmbedded } from "./stories/suite.ts";

onEmbedded("rows of refusals", refusing);
