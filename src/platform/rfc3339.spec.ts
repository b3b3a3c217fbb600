import { describe, expect, it } from '@jest/globals';
import { formatUtc, formatWithOffset } from './rfc3339.js';

const at = (text: string, zone: string) => formatWithOffset(Date.parse(text), zone);

describe('times with an offset', () => {
  it.each([
    ['2026-11-30T23:00:00Z', 'Europe/Vienna', '2026-12-01T00:00:00+01:00'],
    ['2026-06-30T22:00:00Z', 'Europe/Vienna', '2026-07-01T00:00:00+02:00'],
    ['2026-12-01T00:00:00Z', 'UTC', '2026-12-01T00:00:00+00:00'],
    ['2026-12-01T05:00:00Z', 'America/New_York', '2026-12-01T00:00:00-05:00'],
    ['2026-11-30T18:30:00Z', 'Asia/Kolkata', '2026-12-01T00:00:00+05:30'],
    ['2026-11-30T18:15:00Z', 'Asia/Kathmandu', '2026-12-01T00:00:00+05:45'],
    ['2026-12-01T03:30:00Z', 'America/St_Johns', '2026-12-01T00:00:00-03:30'],
    ['2026-11-30T10:00:00Z', 'Pacific/Kiritimati', '2026-12-01T00:00:00+14:00'],
    ['2026-12-01T11:00:00Z', 'Etc/GMT+11', '2026-12-01T00:00:00-11:00'],
  ])('%s in %s is %s', (instant, zone, expected) => expect(at(instant, zone)).toBe(expected));

  it('distinguish the two equal hours when clocks go back', () => {
    expect(at('2026-10-25T00:30:00Z', 'Europe/Vienna')).toBe('2026-10-25T02:30:00+02:00');
    expect(at('2026-10-25T01:30:00Z', 'Europe/Vienna')).toBe('2026-10-25T02:30:00+01:00');
  });

  it('skip the hour when clocks go forward', () => {
    expect(at('2026-03-29T00:59:59Z', 'Europe/Vienna')).toBe('2026-03-29T01:59:59+01:00');
    expect(at('2026-03-29T01:00:00Z', 'Europe/Vienna')).toBe('2026-03-29T03:00:00+02:00');
  });

  it('always represent the same instant, to the second', () => {
    for (const zone of ['Europe/Vienna', 'Australia/Lord_Howe', 'America/Sao_Paulo', 'Africa/Casablanca']) {
      for (let ms = Date.parse('2026-01-01T00:00:00.999Z'); ms < Date.parse('2027-01-01'); ms += 7_777_777_000) {
        expect(Date.parse(formatWithOffset(ms, zone))).toBe(Math.floor(ms / 1_000) * 1_000);
      }
    }
  });
});

describe('times in UTC', () => {
  it('equal those of toISOString, at every step within a second and back', () => {
    const instants = [0, 1, 1.5, 9, 10, 99, 100, 999, 1_000, 999, -1, -1_000, -62_198_755_200_000, 253_402_300_800_000];
    for (let ms = Date.parse('2026-12-31T23:59:58.001Z'); instants.length < 400; ms += 7) instants.push(ms);
    expect(instants.map(formatUtc)).toEqual(instants.map((ms) => new Date(ms).toISOString()));
  });

  it('throw for an invalid date, and work afterwards', () => {
    expect(() => formatUtc(NaN)).toThrow(RangeError);
    expect(() => formatUtc(8.64e15 + 1_000)).toThrow(RangeError);
    expect(formatUtc(1)).toBe('1970-01-01T00:00:00.001Z');
  });
});
