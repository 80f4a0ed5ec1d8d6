import { onEmbedded } from "./stories/suite.ts";
import { validating } from "./stories/validating.ts";

onEmbedded("rows of validation", validating);
