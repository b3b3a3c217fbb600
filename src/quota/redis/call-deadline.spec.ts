import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { CallDeadline, type TimedCall } from './call-deadline.js';

const DEADLINE_MS = 40;
/** How late a timer can fire on a busy machine. */
const LATE_MS = 400;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the deadline of calls', () => {
  let late: { name: string; afterMs: number }[];
  let deadline: CallDeadline<TimedCall & { readonly name: string }>;
  beforeEach(() => {
    late = [];
    deadline = new CallDeadline(DEADLINE_MS, ({ name, sentMs }) =>
      late.push({ name, afterMs: performance.now() - sentMs }),
    );
  });
  afterEach(() => sleep(DEADLINE_MS * 2));

  const begin = (name: string) => {
    const call = { name, sentMs: performance.now(), deadlineSlot: -1 };
    deadline.begin(call);
    return call;
  };
  const allLate = async (count: number) => {
    const until = performance.now() + DEADLINE_MS * 10 + LATE_MS;
    while (late.length < count && performance.now() < until) await sleep(5);
  };

  it('gives up each call that is open then, none of them early, and each once', async () => {
    begin('first');
    await sleep(DEADLINE_MS / 2);
    begin('second');
    await allLate(2);
    await sleep(DEADLINE_MS * 2);
    expect(late.map(({ name }) => name)).toEqual(['first', 'second']);
    for (const { afterMs } of late) {
      expect(afterMs).toBeGreaterThanOrEqual(DEADLINE_MS);
      expect(afterMs).toBeLessThan(DEADLINE_MS + LATE_MS);
    }
  });

  it('leaves a call alone that has ended, and says that it was open', async () => {
    const ended = begin('ended');
    begin('open');
    expect(deadline.end(ended)).toBe(true);
    expect(deadline.end(ended)).toBe(false);
    await allLate(1);
    expect(late.map(({ name }) => name)).toEqual(['open']);
  });

  it('finds each of many, in whatever order they end', async () => {
    const calls = ['a', 'b', 'c', 'd', 'e'].map(begin);
    for (const index of [1, 4, 0]) expect(deadline.end(calls[index]!)).toBe(true);
    expect(deadline.end(calls[1]!)).toBe(false);
    begin('f');
    await allLate(3);
    expect(late.map(({ name }) => name).toSorted()).toEqual(['c', 'd', 'f']);
  });

  it('says of a call that was given up that it is not open any more', async () => {
    const call = begin('late');
    await allLate(1);
    expect(deadline.end(call)).toBe(false);
  });

  it('is kept for calls that come after an idle time', async () => {
    deadline.end(begin('long ago'));
    await sleep(DEADLINE_MS * 2);
    begin('new');
    await allLate(1);
    expect(late.map(({ name }) => name)).toEqual(['new']);
  });

  it('takes what has come in while the process stood still for a response in time', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    const arrived = once(socket, 'data').then(() => deadline.end(call));
    const call = begin('answered');
    client.write('response');
    const until = performance.now() + DEADLINE_MS * 2;
    while (performance.now() < until);
    expect([await arrived, late]).toEqual([true, []]);
    client.destroy();
    server.close();
  });
});
