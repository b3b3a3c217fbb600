/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.spec.ts', '<rootDir>/src/**/*.spec.ts'],
  testRunner: '<rootDir>/test/support/in-time-runner.mjs',
  testSequencer: '<rootDir>/test/support/sequencer.mjs',
  setupFiles: ['<rootDir>/test/setup.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^@nestjs/throttler$': '<rootDir>/test/support/throttler.mjs',
  },
  modulePathIgnorePatterns: [
    '<rootDir>/dist',
    '<rootDir>/test/bench/peers',
    '<rootDir>/test/clients',
    '<rootDir>/test/openapi-tools',
    '<rootDir>/test/smtp',
    '<rootDir>/test/generated-clients',
    '<rootDir>/test/oidc',
    '<rootDir>/test/webhook-verifiers',
  ],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        jsc: {
          target: 'es2023',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  // Long, because a busy machine is not what the tests test: who waits for something has a deadline of its own.
  testTimeout: 300_000,
  workerIdleMemoryLimit: '512MB',
};
