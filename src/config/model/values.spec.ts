/** Values as people write them. Invalid values are rejected with a message that says what is valid. */
import { describe, expect, it } from '@jest/globals';
import { LOG_DAYS_MESSAGE, logDays } from './values.js';

describe('the retention of request logs', () => {
  it.each([
    ['1d', 1],
    ['7d', 7],
    ['90d', 90],
    ['off', 0],
    [0, 0],
    ['0d', 0],
  ])('%s is %s days', (text, days) => expect(logDays.parse(text)).toBe(days));

  it.each(['91d', '400d', '7', '7h', '', 'on', 7, -1, null, '1.5d'])('%s is refused', (text) => {
    const { error } = logDays.safeParse(text);
    expect(error?.issues.map(({ message }) => message)).toEqual([LOG_DAYS_MESSAGE]);
  });
});
