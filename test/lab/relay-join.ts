// Joins an accepted connection to a new one.
import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream";

/** When either end closes or fails, both are closed: a reader must not wait for an answer that cannot come. */
export function joinTo(target: { host: string; port: number }): (accepted: Socket) => void {
  return (accepted) => {
    const own = connect({ ...target, noDelay: true });
    accepted.setNoDelay(true);
    pipeline(accepted, own, () => own.destroy());
    pipeline(own, accepted, () => accepted.destroy());
  };
}
