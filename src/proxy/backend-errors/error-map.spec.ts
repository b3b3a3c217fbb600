/** Error bodies in a custom format, read through the service's error map. */
import { describe, expect, it } from '@jest/globals';
import { readErrorBody } from './error-body.js';
import { valueAtPointer } from './error-map.js';

const read = (body: unknown, map: Parameters<typeof readErrorBody>[2]) =>
  readErrorBody('application/json', JSON.stringify(body), map);

describe('an error map', () => {
  it('finds message, code and field errors in unusual places', () => {
    const body = {
      fehler: { text: 'Die Buchung ist ungültig', nr: 4711 },
      maengel: [
        { feld: 'gast.email', was: { text: 'fehlt' }, nr: 12 },
        { feld: 'plaetze', was: { text: 'muss positiv sein' } },
      ],
    };
    const map = {
      message: '/fehler/text',
      code: '/fehler/nr',
      fields: '/maengel',
      fieldName: '/feld',
      fieldMessage: '/was/text',
      fieldCode: '/nr',
    };
    expect(read(body, map)).toEqual({
      detail: 'Die Buchung ist ungültig',
      reason: '4711',
      errors: [
        { detail: 'fehlt', pointer: '#/gast/email', code: '12' },
        { detail: 'muss positiv sein', pointer: '#/plaetze' },
      ],
    });
  });

  it('reads an object of fields and messages as it is', () => {
    expect(read({ problem: { email: ['is taken'] } }, { fields: '/problem' })).toEqual({
      errors: [{ detail: 'is taken', pointer: '#/email' }],
    });
  });

  it('falls back to the usual places for what it does not name or find', () => {
    const body = { message: 'usual', own: { text: 'own' }, errors: { email: ['is taken'] } };
    const errors = [{ detail: 'is taken', pointer: '#/email' }];
    expect(read(body, { message: '/own/text' })).toEqual({ detail: 'own', errors });
    expect(read(body, { message: '/none/text' })).toEqual({ detail: 'usual', errors });
  });

  it('passes on no text for developers, even from a mapped place', () => {
    const trace = 'NullPointerException: x\n    at com.example.Main(Main.java:7)';
    expect(read({ own: trace }, { message: '/own' })).toEqual({});
  });

  it.each([
    ['/a/b', 1],
    ['/a~1b', 2],
    ['/list/1', 'two'],
    ['/constructor', undefined],
    ['/a/b/c', undefined],
    ['/list/length', undefined],
  ])('follows %s', (pointer, expected) => {
    expect(valueAtPointer({ a: { b: 1 }, 'a/b': 2, list: ['one', 'two'] }, pointer)).toBe(expected);
  });
});
