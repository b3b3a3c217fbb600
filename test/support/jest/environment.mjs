/**
 * Jest environment that runs a test file directly in the worker process. Jest's default environment creates a VM
 * context per file and evaluates every module again. Here, a worker loads each module once (see `runtime.mjs`).
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

  /** Removes what the file has left behind, because the next file runs in the same process. */
  async teardown() {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    await Promise.all(current.ends.splice(0).map((end) => end()));
  }
}
