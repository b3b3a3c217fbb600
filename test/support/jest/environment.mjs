/**
 * The environment of a test file: the process itself. Jest's own makes a VM context for each file, in which every module is evaluated
 * anew; here a worker loads each module once (`runtime.mjs`).
 */
import { createRequire } from 'node:module';
import { current } from './current.mjs';

const { ModernFakeTimers } = createRequire(import.meta.url)('@jest/fake-timers');
const { ModuleMocker } = createRequire(import.meta.url)('jest-mock');

export default class NativeEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  getVmContext() {
    return null;
  }

  async setup() {}

  /** What a file left replaced, or open, would be the next one's. */
  async teardown() {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    await Promise.all(current.ends.splice(0).map((end) => end()));
  }
}
