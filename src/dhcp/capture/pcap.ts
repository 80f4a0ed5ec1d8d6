// Capture files of Ethernet frames (draft-ietf-opsawg-pcap): a header, then records. Any reader of pcap takes them.

/** Microseconds, written least significant byte first. */
const magic = 0xa1b2_c3d4;
const linkTypeEthernet = 1;
const snapBytes = 0xffff;
const recordHeaderBytes = 16;

export function pcapHeader(): Uint8Array {
  const view = new DataView(new ArrayBuffer(24));
  view.setUint32(0, magic, true);
  view.setUint16(4, 2, true);
  view.setUint16(6, 4, true);
  view.setUint32(16, snapBytes, true);
  view.setUint32(20, linkTypeEthernet, true);
  return new Uint8Array(view.buffer);
}

/** One frame. A frame that is longer than the header says is cut; its own length is still told. */
export function pcapRecord(atMs: number, frame: Uint8Array): Uint8Array {
  const kept = Math.min(frame.length, snapBytes);
  const record = new Uint8Array(recordHeaderBytes + kept);
  const view = new DataView(record.buffer);
  view.setUint32(0, Math.floor(atMs / 1000), true);
  view.setUint32(4, Math.floor((atMs % 1000) * 1000), true);
  view.setUint32(8, kept, true);
  view.setUint32(12, frame.length, true);
  record.set(frame.subarray(0, kept), recordHeaderBytes);
  return record;
}
