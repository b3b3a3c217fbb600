/**
 * What `@jest/globals` is in a test file. A module that was loaded for an earlier file is used by later ones: each name asks
 * for what the file that runs now has.
 */
import { current } from './current.mjs';

function now(name) {
  return new Proxy(() => undefined, {
    apply: (_, __, args) => current.globals[name](...args),
    get: (_, property) => current.globals[name][property],
  });
}

export const describe = now('describe');
export const it = now('it');
export const test = now('test');
export const beforeAll = now('beforeAll');
export const beforeEach = now('beforeEach');
export const afterAll = now('afterAll');
export const afterEach = now('afterEach');
export const expect = now('expect');
export const jest = new Proxy({}, { get: (_, property) => current.globals.jest[property] });
