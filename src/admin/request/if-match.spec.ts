/** Malformed versions in If-Match are rejected, so no change is made to a wrong version. */
import { expect, it } from '@jest/globals';
import { expectedVersions } from './if-match.js';

it.each([
  [undefined, undefined],
  ['*', undefined],
  ['"7.k9Xw_-a"', [7]],
  ['"7"', [7]],
  ['"7", "9.x"', [7, 9]],
  ['"7","9"', [7, 9]],
  ['"abc"', [0]],
  ['"99999999999999999999"', [0]],
  ['"-1"', [0]],
  ['"a,b"', [0]],
])('If-Match %j expects versions %j', (field, versions) => expect(expectedVersions(field)).toEqual(versions));

it.each(['', '7', 'W/"7"', '"7', '7"', '"7" "9', '"7"; x', '"7", W/"9"', '*, "7"', '"a b"', '""', ' * '])(
  '%j is refused',
  (field) => {
    expect(() => expectedVersions(field)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  },
);
