/** Frame boundaries are found however the data is split. The close frame conforms to RFC 6455. */
import { describe, expect, it } from '@jest/globals';
import { closeFrame, FrameTracker } from './websocket-frames.js';

function frame(opcode: number, length: number, masked = false): Buffer {
  const mask = masked ? 0x80 : 0;
  const sizes =
    length < 126
      ? [mask | length]
      : length < 65_536
        ? [mask | 126, length >> 8, length & 0xff]
        : [mask | 127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 0xff, length & 0xff];
  // A payload that looks like headers.
  return Buffer.concat([Buffer.from([0x80 | opcode, ...sizes]), Buffer.alloc((masked ? 4 : 0) + length, 0x88)]);
}

describe('frames', () => {
  const frames = [frame(1, 0), frame(2, 125), frame(1, 126), frame(9, 5), frame(2, 65_535), frame(2, 70_000)];
  const all = Buffer.concat([...frames, frame(1, 300, true)]);
  const ends = new Set<number>();
  let end = 0;
  for (const { length } of [...frames, frame(1, 300, true)]) ends.add((end += length));

  it.each([1, 3, 1_000, all.length])('may be followed by a close only at their ends, in pieces of %i bytes', (size) => {
    const tracker = new FrameTracker();
    expect(tracker.mayClose).toBe(true);
    const whole: number[] = [];
    const expected: number[] = [];
    for (let end = size; end < all.length + size; end += size) {
      tracker.feed(all.subarray(end - size, end));
      if (tracker.mayClose) whole.push(Math.min(end, all.length));
      if (ends.has(Math.min(end, all.length))) expected.push(Math.min(end, all.length));
    }
    expect(whole).toEqual(expected);
    expect(whole).toContain(all.length);
  });

  it('may not be followed by another close after a close frame', () => {
    const tracker = new FrameTracker();
    tracker.feed(closeFrame(1000, ''));
    expect(tracker.mayClose).toBe(false);
  });

  it('end with a close frame that has the status code and the reason', () => {
    expect([...closeFrame(1008, 'no')]).toEqual([0x88, 4, 0x03, 0xf0, 0x6e, 0x6f]);
  });
});
