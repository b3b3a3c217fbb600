/**
 * Jest runtime that loads test files with Node's module loader instead of a VM. A worker evaluates each module once,
 * not once per test file, which halves the duration of a run. Module variables therefore keep their values for later
 * files.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { compileTypeScript, SOURCE_MAPS } from './compile.ts';
import { current } from './current.mjs';

const require = createRequire(import.meta.url);
/** Property in which jest-circus stores its event handlers. Each file must start without handlers. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');
/** Number of times that this worker has run each test file. */
const runs = new Map();

compileTypeScript();
// Node's compile cache is for Jest and its workers, not for the programs that tests start.
delete process.env.NODE_COMPILE_CACHE;

export default class NativeRuntime {
  #environment;

  constructor(_config, environment) {
    this.#environment = environment;
  }

  /** Loads a module again, because jest-circus keeps the state of a test file in module variables. */
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

  /** Evaluates a test file on every run. Modules that it imports are evaluated only once. */
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
