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

  it('expires each open call once, and none early', async () => {
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

  it('does not expire a call that has ended, and reports at its end whether it was open', async () => {
    const ended = begin('ended');
    begin('open');
    expect(deadline.end(ended)).toBe(true);
    expect(deadline.end(ended)).toBe(false);
    await allLate(1);
    expect(late.map(({ name }) => name)).toEqual(['open']);
  });

  it('tracks each of many calls, in whatever order they end', async () => {
    const calls = ['a', 'b', 'c', 'd', 'e'].map(begin);
    for (const index of [1, 4, 0]) expect(deadline.end(calls[index]!)).toBe(true);
    expect(deadline.end(calls[1]!)).toBe(false);
    begin('f');
    await allLate(3);
    expect(late.map(({ name }) => name).toSorted()).toEqual(['c', 'd', 'f']);
  });

  it('reports an expired call as no longer open', async () => {
    const call = begin('late');
    await allLate(1);
    expect(deadline.end(call)).toBe(false);
  });

  it('applies to calls after an idle time too', async () => {
    deadline.end(begin('long ago'));
    await sleep(DEADLINE_MS * 2);
    begin('new');
    await allLate(1);
    expect(late.map(({ name }) => name)).toEqual(['new']);
  });

  it('treats a response that arrived while the process was blocked as in time', async () => {
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
