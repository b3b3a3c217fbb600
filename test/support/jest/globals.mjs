/**
 * Replaces `@jest/globals` in test files. Modules stay loaded for later test files, so each name forwards to the global
 * of the file that currently runs.
 */
import { current } from './current.mjs';

/** Returns a proxy for a global function of the current test file. */
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
