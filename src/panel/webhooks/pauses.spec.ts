/** Conversion of typed pauses to the seconds of the API, and back. */
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
])('%j is %j seconds, also after formatting and parsing again', (pauses, seconds) => {
  expect(secondsOf(pauses)).toEqual(seconds);
  expect(secondsOf(seconds.map(pauseText))).toEqual(seconds);
});

it.each([[[]], [['0s']], [['25h']], [['soon']], [['-5s']], [['1.5h']], [Array(8).fill('1d')], [Array(21).fill('1s')]])(
  '%j is not a valid schedule',
  (pauses: string[]) => {
    expect(secondsOf(pauses)).toBeNull();
  },
);
