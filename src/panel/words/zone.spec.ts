/** Beginning and end of a day in an account's time zone, independent of the reader's zone. */
import { expect, it } from '@jest/globals';
import { beginningOf, dayIn, dayOf, endOf } from './zone.js';

it.each([
  ['2027-02-20', 'UTC', '2027-02-20T00:00:00.000Z', '2027-02-20T23:59:59.000Z'],
  ['2027-02-20', 'Europe/Vienna', '2027-02-19T23:00:00.000Z', '2027-02-20T22:59:59.000Z'],
  ['2027-02-20', 'America/Los_Angeles', '2027-02-20T08:00:00.000Z', '2027-02-21T07:59:59.000Z'],
  ['2027-02-20', 'Pacific/Kiritimati', '2027-02-19T10:00:00.000Z', '2027-02-20T09:59:59.000Z'],
  ['2027-02-20', 'Asia/Kathmandu', '2027-02-19T18:15:00.000Z', '2027-02-20T18:14:59.000Z'],
  // Days on which the clocks go forward and back.
  ['2027-03-28', 'Europe/Vienna', '2027-03-27T23:00:00.000Z', '2027-03-28T21:59:59.000Z'],
  ['2027-10-31', 'Europe/Vienna', '2027-10-30T22:00:00.000Z', '2027-10-31T22:59:59.000Z'],
])('%s in %s begins at %s and ends at %s', (day, zone, begins, ends) => {
  expect([beginningOf(day, zone), endOf(day, zone)]).toEqual([begins, ends]);
  expect([dayOf(new Date(begins), zone), dayOf(new Date(ends), zone)]).toEqual([day, day]);
  expect(dayOf(new Date(Date.parse(begins) - 1_000), zone) < day).toBe(true);
  expect(dayOf(new Date(Date.parse(ends) + 1_000), zone) > day).toBe(true);
});

it('an invalid day has no end', () => {
  for (const text of ['', 'tomorrow', '2027-13-01']) expect(endOf(text, 'UTC')).toBeUndefined();
});

it('dayIn counts days in the given zone, so the date can differ between zones', () => {
  const [east, west] = [dayIn(90, 'Pacific/Kiritimati'), dayIn(90, 'Pacific/Pago_Pago')];
  expect(east > west).toBe(true);
});

it.each([
  ['Europe/Vienna', '9999-12-31T22:59:59.000Z'],
  ['Pacific/Auckland', '9999-12-31T10:59:59.000Z'],
  ['America/New_York', '+010000-01-01T04:59:59.000Z'],
])('the last day that a date field accepts has an end in %s too', (zone, end) => {
  expect(endOf('9999-12-31', zone)).toBe(end);
});

it('a day with a five-digit year is invalid', () => {
  expect(endOf('20226-01-01', 'Europe/Vienna')).toBeUndefined();
});
