/** Content, receivers and frequency of signals. */
import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkSignal, type SignaledEndpoints } from './work-signal.js';

function signalWithAll() {
  const received: SignaledEndpoints[] = [];
  const sent: string[] = [];
  // Follows the sender's ID.
  const signal = new WorkSignal((message) => sent.push(message.replace(/^@[0-9a-f-]{36} /, '')));
  const stop = signal.addFollower((each) => received.push(each));
  return { signal, received, sent, stop };
}

it('sends the first signal at once, and later ones together without duplicates', async () => {
  const { signal, received, sent } = signalWithAll();
  signal.signalEndpoints(['whe_1', 'whe_2']);
  expect(received).toEqual([['whe_1', 'whe_2']]);
  for (let round = 0; round < 100; round++) signal.signalEndpoints(['whe_3', `whe_${round % 5}`]);
  expect(received).toHaveLength(1);
  while (received.length < 2) await sleep(1);
  expect(received[1]).toEqual(['whe_3', 'whe_0', 'whe_1', 'whe_2', 'whe_4']);
  expect(sent).toEqual(['whe_1 whe_2', 'whe_3 whe_0 whe_1 whe_2 whe_4']);
});

it('sends `all` if the IDs do not fit into a notification', () => {
  const { signal, received, sent } = signalWithAll();
  signal.signalEndpoints(Array.from({ length: 300 }, (_, index) => `whe_${String(index).padStart(25, '0')}`));
  expect([received[0]?.length, sent]).toEqual([300, ['all']]);
});

it('passes messages of other processes to followers, and does not send them on', () => {
  const { signal, received, sent, stop } = signalWithAll();
  signal.receiveMessage('whe_1 whe_2');
  signal.receiveMessage('all');
  stop();
  signal.receiveMessage('whe_3');
  expect([received, sent]).toEqual([[['whe_1', 'whe_2'], 'all'], []]);
});

it('sends nothing for an empty list of endpoints', () => {
  const { signal, received, sent } = signalWithAll();
  signal.signalEndpoints([]);
  expect([received, sent]).toEqual([[], []]);
});

it('marks changed endpoints for other processes, and ignores its own messages', () => {
  const [local, remote] = [[] as unknown[], [] as unknown[]];
  const elsewhere = new WorkSignal();
  elsewhere.addFollower((...each) => remote.push(each));
  const signal: WorkSignal = new WorkSignal((message) => {
    signal.receiveMessage(message);
    elsewhere.receiveMessage(message);
  });
  signal.addFollower((...each) => local.push(each));
  signal.tellChanged(['whe_1']);
  expect([local, remote]).toEqual([[[['whe_1'], ['whe_1']]], [[['whe_1'], ['whe_1']]]]);
});

it('treats all endpoints of an older version’s message as changed', () => {
  const heard: unknown[] = [];
  const signal = new WorkSignal();
  signal.addFollower((...each) => heard.push(each));
  signal.receiveMessage('whe_1 whe_2');
  expect(heard).toEqual([
    [
      ['whe_1', 'whe_2'],
      ['whe_1', 'whe_2'],
    ],
  ]);
});
