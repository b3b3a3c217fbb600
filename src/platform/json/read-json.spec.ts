import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JsonError, readJson } from './read-json.js';

const read = (text: string): unknown => readJson(Buffer.from(text));
/** Returns the error message for bytes, or undefined if they are accepted. */
function fault(bytes: Buffer | string): string | undefined {
  try {
    readJson(Buffer.from(bytes as string));
    return undefined;
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

describe('untrusted JSON', () => {
  it.each([
    [Buffer.from('"J\xf6rg"', 'latin1'), 'is not UTF-8'],
    ['{"a":1', 'is not valid JSON: look at position 6 (line 1 column 7)'],
    ['', 'is not valid JSON'],
    ['{"a":1}x', 'is not valid JSON: look at position 7 (line 1 column 8)'],
    ['["\\ud83d"]', 'has half of a surrogate pair in a text'],
    ['{"\\udc00":1}', 'has half of a surrogate pair in a name'],
    ['{"a":1,"b":{"c":1,"\\u0063":2}}', 'has the name "c" twice in one object'],
    ['{"__proto__":1}', 'must not have the name `__proto__`, or `prototype` in `constructor`'],
    ['{"a":{"constructor":{"prototype":1}}}', 'must not have the name `__proto__`, or `prototype` in `constructor`'],
    [`${'['.repeat(65)}${']'.repeat(65)}`, 'has more than 64 objects and lists inside each other'],
    ['['.repeat(1_000_000), 'has more than 64 objects and lists inside each other'],
  ])('%s is rejected: %s', (bytes, detail) => expect(fault(bytes)).toBe(detail));

  it.each([
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}',
    '{"constructor":1,"prototype":2,"":3}',
    '{"a:":"b:","c\\"":":{[","d\\\\":":"}',
    '"\\ud83d\\ude00"',
    `${'['.repeat(64)}${']'.repeat(64)}`,
  ])('%s is accepted', (text) => expect(read(text)).toEqual(JSON.parse(text)));

  it('may begin with a byte order mark', () => expect(read('\ufeff{"a":1}')).toEqual({ a: 1 }));

  it('is parsed unchanged, or rejected', () => {
    const value = fc.jsonValue({ maxDepth: 5, noUnicodeString: false });
    fc.assert(
      fc.property(value, (given) => {
        const text = JSON.stringify(given);
        // -0 is written as 0, and the name __proto__ is rejected.
        const refused = fault(text);
        expect(refused === undefined ? JSON.stringify(read(text)) : refused).toBe(
          /"__proto__":|"constructor":\{[^}]*"prototype":|\\ud/.test(text) ? refused : text,
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it('of any bytes throws nothing but JsonError', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 50 }),
          fc
            .string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'u', 'd', '8', '1', '.', '-') })
            .map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          fault(Buffer.from(bytes));
        },
      ),
      { numRuns: 5_000 },
    );
  });
});
