/**
 * What Jest loads test files with, instead of its VM: Node's own modules. A worker evaluates each module once, not once for each
 * test file: half of a run was that. What a module keeps in variables lives on into the next file.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { compileTypeScript, SOURCE_MAPS } from './compile.ts';
import { current } from './current.mjs';

const require = createRequire(import.meta.url);
/** Where jest-circus keeps the listeners of its events; each file begins with none. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');
/** How often this worker has run a test file. */
const runs = new Map();

compileTypeScript();
// For Jest and its workers, and not for the programs that tests start.
delete process.env.NODE_COMPILE_CACHE;

export default class NativeRuntime {
  #environment;

  constructor(_config, environment) {
    this.#environment = environment;
  }

  /** jest-circus keeps the state of a file in a module: it is loaded anew for each. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[EVENT_HANDLERS];
    return require(path);
  }

  requireModule(path) {
    return require(path);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** A test file is evaluated each time; what it imports is not. */
  async unstable_importModule(path) {
    const url = pathToFileURL(path);
    const before = runs.get(path) ?? 0;
    if (path.endsWith('.spec.ts') && before > 0) url.searchParams.set('run', String(before));
    runs.set(path, before + 1);
    return import(url);
  }

  setGlobalsForRuntime(globals) {
    const { moduleMocker: mocker, fakeTimersModern: timers } = this.#environment;
    const jest = {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: () => mocker.restoreAllMocks(),
      useFakeTimers: (options) => timers.useFakeTimers(options),
      useRealTimers: () => timers.useRealTimers(),
      setSystemTime: (time) => timers.setSystemTime(time),
      advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
      advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
      getTimerCount: () => timers.getTimerCount(),
    };
    current.globals = { ...globals, jest };
  }

  getSourceMaps() {
    return SOURCE_MAPS;
  }

  getAllCoverageInfoCopy() {
    return undefined;
  }

  restoreAllMocks() {
    this.#environment.moduleMocker.restoreAllMocks();
  }

  enterTestCode() {}
  leaveTestCode() {}
  teardown() {}
}
