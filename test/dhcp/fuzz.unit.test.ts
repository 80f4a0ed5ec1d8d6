// Any bytes as a frame, 200,000 times; fuzz.unit.full.test.ts tries millions.
import { withFresh } from "../volume.ts";
import { fuzz } from "./fuzz.ts";

fuzz(100_000, withFresh(1));
