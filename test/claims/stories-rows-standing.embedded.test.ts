import { changedDefinitions, restarting, resting, restoring } from "./stories/standing.ts";
import { onEmbedded } from "./stories/suite.ts";

onEmbedded("rows of definitions that change", changedDefinitions);
onEmbedded("rows of a controller that restarts", restarting);
onEmbedded("rows of backups", restoring);
onEmbedded("rows of resting", resting);
