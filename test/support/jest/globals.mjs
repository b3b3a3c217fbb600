/**
 * Replaces `@jest/globals` in test files. Modules stay loaded for later test files, so each name forwards to the global
 * of the file that currently runs.
 */
import { current } from './current.mjs';

/** Returns a proxy for a global function of the current test file. */
function forwardTo(name) {
  return new Proxy(() => undefined, {
    apply: (_, __, args) => current.globals[name](...args),
    get: (_, property) => current.globals[name][property],
  });
}

export const describe = forwardTo('describe');
export const it = forwardTo('it');
export const test = forwardTo('test');
export const beforeAll = forwardTo('beforeAll');
export const beforeEach = forwardTo('beforeEach');
export const afterAll = forwardTo('afterAll');
export const afterEach = forwardTo('afterEach');
export const expect = forwardTo('expect');
export const jest = new Proxy({}, { get: (_, property) => current.globals.jest[property] });
