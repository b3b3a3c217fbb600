/**
 * `@nestjs/throttler` for Jest. It is CommonJS and requires Nest, which is not: Jest can do that only once Nest has been
 * evaluated. Here that is seen to by those test files alone whose subject needs the throttler; for every file it would be
 * a third of the time that the unit tests take.
 */
import 'reflect-metadata';
import '@nestjs/common';
import '@nestjs/core';

const throttler = await import('../../node_modules/@nestjs/throttler/dist/index.js');

export const {
  getOptionsToken,
  getStorageToken,
  normalizeIp,
  ThrottlerException,
  ThrottlerGuard,
  ThrottlerModule,
  ThrottlerStorage,
} = throttler;
