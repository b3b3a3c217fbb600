/** The order of resets when all connections together hold too much. Fake streams, because it takes thousands. */
import { afterEach, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { UnadmittedStreams } from './unadmitted-streams.js';

const FIELDS = ['x-large', 'a'.repeat(15_000)];
/** More than the process can hold. */
const STREAMS = 1_500;
const STREAMS_PER_CONNECTION = 10;

class FakeStream extends EventEmitter {
  destroyed = false;
  writableFinished = false;
  writableLength = 200;
  isReset = false;

  /** @param writableEnded whether a refusal has been written to it. */
  constructor(readonly writableEnded: boolean) {
    super();
  }

  close(): void {
    this.isReset = true;
  }
}

let streams: UnadmittedStreams;
afterEach(() => streams.stop());

it('resets the oldest unread refusals before a stream whose key is being looked up', () => {
  streams = new UnadmittedStreams();
  let session = {} as ServerHttp2Session;
  const hold = (isRefused: boolean, isNew: boolean): FakeStream => {
    if (isNew) streams.trackSession((session = {} as ServerHttp2Session));
    const stream = new FakeStream(isRefused);
    const node = stream as unknown as ServerHttp2Stream;
    expect(streams.checkNewStream(session, node)).toBe(true);
    streams.countStream(session, node, FIELDS);
    return stream;
  };
  const lookedUp = hold(false, true);
  const refused = Array.from({ length: STREAMS }, (_, at) => hold(true, at % STREAMS_PER_CONNECTION === 0));
  expect(lookedUp.isReset).toBe(false);
  expect([refused.at(0)?.isReset, refused.at(-1)?.isReset]).toEqual([true, false]);
});

it('resets the oldest streams with pending key lookups if nothing else is held', () => {
  streams = new UnadmittedStreams();
  const held = Array.from({ length: STREAMS }, () => {
    const session = {} as ServerHttp2Session;
    streams.trackSession(session);
    const stream = new FakeStream(false);
    streams.countStream(session, stream as unknown as ServerHttp2Stream, FIELDS);
    return stream;
  });
  expect([held.at(0)?.isReset, held.at(-1)?.isReset]).toEqual([true, false]);
});
