/** Pauses as people type them, and as the API has them. */
import { expect, it } from '@jest/globals';
import { pauseText, secondsOf } from './pauses.js';

it.each([
  [
    ['30s', '5m', '2h', '1d'],
    [30, 300, 7_200, 86_400],
  ],
  [
    [' 90 ', '1M'],
    [90, 60],
  ],
])('%j is %j seconds, and reads the same afterwards', (pauses, seconds) => {
  expect(secondsOf(pauses)).toEqual(seconds);
  expect(secondsOf(seconds.map(pauseText))).toEqual(seconds);
});

it.each([[[]], [['0s']], [['25h']], [['soon']], [['-5s']], [['1.5h']], [Array(8).fill('1d')], [Array(21).fill('1s')]])(
  '%j is no schedule that the API takes',
  (pauses: string[]) => {
    expect(secondsOf(pauses)).toBeNull();
  },
);
