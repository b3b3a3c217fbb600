/** Text that is not for clients, or exceeds the limits, is left out of an error. */
import { describe, expect, it } from '@jest/globals';
import { cpuMsOf } from '../../../test/support/cpu-time.js';
import { readErrorBody, type ErrorMeaning } from './error-body.js';

const read = (body: unknown, contentType = 'application/json'): ErrorMeaning =>
  readErrorBody(contentType, JSON.stringify(body));

describe('content without meaning for a client is left out', () => {
  it.each<[string, string | undefined, string | undefined]>([
    ['no body', 'application/json', ''],
    ['a body that was too large to be read', 'application/json', undefined],
    ['broken JSON', 'application/json', '{"message": "half a'],
    ['HTML that calls itself JSON', 'application/json', '<html>Internal</html>'],
    ['HTML', 'text/html', '<h1>Not Found</h1>'],
    ['plain text', 'text/plain', 'Not Found'],
    ['JSON that calls itself HTML', 'text/html', '{"message":"x"}'],
    ['no content type', undefined, '{"message":"x"}'],
    ['JavaScript', 'application/javascript+json5', '{"message":"x"}'],
    ['null', 'application/json', 'null'],
    ['a number', 'application/json', '42'],
    ['a text', 'application/json', '"Not Found"'],
    ['an empty list', 'application/json', '[]'],
    ['an empty object', 'application/json', '{}'],
    ['members of other types', 'application/json', '{"message":7,"detail":null,"errors":true,"error":[]}'],
    ['lists of nothing', 'application/json', '{"errors":[null,1,[],{},""]}'],
  ])('%s', (_name, contentType, body) => {
    expect(readErrorBody(contentType, body)).toEqual({});
  });

  it.each([
    'TypeError: Cannot read properties of undefined\n    at Object.<anonymous> (/app/src/server.js:12:5)',
    'Traceback (most recent call last):\n  File "/srv/app.py", line 3',
    'java.lang.NullPointerException: null',
    'ActiveRecord::RecordNotFound in app/models/customer.rb:12',
    '<p>Whoops</p>',
    '<!DOCTYPE html><html>',
    'SQLSTATE[42S02]: select * from "customers" where id = 1',
    'error in /srv/app/main.go:44',
  ])('a message for developers is left out: %s', (message) => {
    expect(read({ message })).toEqual({});
    expect(read({ errors: [{ field: 'email', message }] })).toEqual({});
    expect(read({ errors: { email: [message] } })).toEqual({});
  });

  it('an exception class is not an error code', () => {
    expect(read({ code: 'NullPointerException', message: 'No' })).toEqual({ detail: 'No' });
  });
});

describe('the size of an error is bounded', () => {
  it('a long message is cut', () => {
    expect(read({ message: 'x'.repeat(5_000) }).detail).toBe(`${'x'.repeat(1_000)}…`);
  });

  it('at most a hundred field errors are kept', () => {
    const errors = Array.from({ length: 5_000 }, (_, index) => ({ field: `f${index}`, message: 'is wrong' }));
    expect(read({ errors }).errors).toHaveLength(100);
    const map = Object.fromEntries(errors.map(({ field, message }) => [field, [message]]));
    expect(read({ errors: map }).errors).toHaveLength(100);
  });

  it.each([
    ['objects', '{"a":', '}'],
    ['lists', '[', ']'],
    ['lists in objects', '{"a":[', ']}'],
  ])('very deep nesting of %s does not overflow the stack', (_what, opening, closing) => {
    const deep = `${opening.repeat(8_000)}"x"${closing.repeat(8_000)}`;
    expect(readErrorBody('application/json', `{"errors":${deep}}`)).toEqual({});
    expect(readErrorBody('application/json', deep)).toEqual({});
  });

  it.each([
    ['one word', 'a'.repeat(60_000)],
    ['empty lines', `x${'\n'.repeat(30_000)}x`],
    ['the beginning of a statement', 'SELECT '.repeat(9_000)],
    ['spaces after a line', `x\n${' '.repeat(60_000)}x`],
  ])('a message of %s, which a client may have crafted, is read without blocking others', (_what, message) => {
    // Linear cost is a few milliseconds. Quadratic cost would be seconds.
    expect(cpuMsOf(() => read({ message }))).toBeLessThan(200);
  });

  it('fields nested four levels deep are found', () => {
    expect(read({ errors: { trip: { guests: { leader: { phone: ['is required'] } } } } }).errors).toEqual([
      { detail: 'is required', pointer: '#/trip/guests/leader/phone' },
    ]);
  });
});
