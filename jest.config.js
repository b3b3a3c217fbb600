import { fileURLToPath } from 'node:url';

/** @type {import('jest').Config} */
export default {
  testMatch: ['<rootDir>/test/**/*.spec.ts', '<rootDir>/src/**/*.spec.ts'],
  // Node loads the test files, not Jest's VM: each module once in a worker.
  testEnvironment: '<rootDir>/test/support/jest/environment.mjs',
  runtime: fileURLToPath(new URL('test/support/jest/runtime.mjs', import.meta.url)),
  transform: {},
  testSequencer: '<rootDir>/test/support/sequencer.mjs',
  setupFiles: ['<rootDir>/test/setup.ts'],
  modulePathIgnorePatterns: [
    '<rootDir>/dist',
    '<rootDir>/test/bench/peers',
    '<rootDir>/test/clients',
    '<rootDir>/test/openapi-tools',
    '<rootDir>/test/generated-clients',
    '<rootDir>/test/webhook-verifiers',
  ],
  // Long, because a busy machine is not what the tests test: who waits for something has a deadline of its own.
  testTimeout: 120_000,
  workerIdleMemoryLimit: '1GB',
};
