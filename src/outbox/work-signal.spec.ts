/** What the signal says, to whom, and how often. */
import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkSignal, type ToldEndpoints } from './work-signal.js';

function signalWithAll() {
  const told: ToldEndpoints[] = [];
  const sent: string[] = [];
  // Behind the name of the sender.
  const signal = new WorkSignal((message) => sent.push(message.replace(/^@[0-9a-f-]{36} /, '')));
  const stop = signal.follow((each) => told.push(each));
  return { signal, told, sent, stop };
}

it('tells the first at once, and those that come meanwhile together, each once', async () => {
  const { signal, told, sent } = signalWithAll();
  signal.tell(['whe_1', 'whe_2']);
  expect(told).toEqual([['whe_1', 'whe_2']]);
  for (let turn = 0; turn < 100; turn++) signal.tell(['whe_3', `whe_${turn % 5}`]);
  expect(told).toHaveLength(1);
  while (told.length < 2) await sleep(1);
  expect(told[1]).toEqual(['whe_3', 'whe_0', 'whe_1', 'whe_2', 'whe_4']);
  expect(sent).toEqual(['whe_1 whe_2', 'whe_3 whe_0 whe_1 whe_2 whe_4']);
});

it('says all where the names would not fit into a notification', () => {
  const { signal, told, sent } = signalWithAll();
  signal.tell(Array.from({ length: 300 }, (_, index) => `whe_${String(index).padStart(25, '0')}`));
  expect([told[0]?.length, sent]).toEqual([300, ['all']]);
});

it('hands on here what was said elsewhere, and sends it nowhere', () => {
  const { signal, told, sent, stop } = signalWithAll();
  signal.hear('whe_1 whe_2');
  signal.hear('all');
  stop();
  signal.hear('whe_3');
  expect([told, sent]).toEqual([[['whe_1', 'whe_2'], 'all'], []]);
});

it('says nothing where there is nothing to say', () => {
  const { signal, told, sent } = signalWithAll();
  signal.tell([]);
  expect([told, sent]).toEqual([[], []]);
});

it('names those that were changed to other processes, which read them anew, and does not hear itself', () => {
  const [here, there] = [[] as unknown[], [] as unknown[]];
  const elsewhere = new WorkSignal();
  elsewhere.follow((...each) => there.push(each));
  const signal: WorkSignal = new WorkSignal((message) => {
    signal.hear(message);
    elsewhere.hear(message);
  });
  signal.follow((...each) => here.push(each));
  signal.tellChanged(['whe_1']);
  expect([here, there]).toEqual([[[['whe_1'], ['whe_1']]], [[['whe_1'], ['whe_1']]]]);
});

it('takes all of which a process of a version before speaks for changed, for it does not say which are', () => {
  const heard: unknown[] = [];
  const signal = new WorkSignal();
  signal.follow((...each) => heard.push(each));
  signal.hear('whe_1 whe_2');
  expect(heard).toEqual([
    [
      ['whe_1', 'whe_2'],
      ['whe_1', 'whe_2'],
    ],
  ]);
});
