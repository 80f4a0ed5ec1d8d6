// Any bytes as a frame of IPv6, five million times: with the other family's, the 10 million inputs of a full run.
import { withFresh } from "../../volume.ts";
import { fuzz } from "./fuzz.ts";

fuzz(2_500_000, withFresh(2));
