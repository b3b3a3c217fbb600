/** `describe` for tests that need a real server: without one they are reported as skipped, never as passed. */
import { describe } from '@jest/globals';
import {
  findPostgresBin,
  findRedisServer,
  findSlowHttpTest,
  postgresIsAvailable,
  redisIsAvailable,
} from './servers.js';

type Describe = typeof describe | typeof describe.skip;

/** For tests on the shared Redis (`sharedRedisUrl`). */
export const describeWithRedis: Describe = redisIsAvailable() ? describe : describe.skip;

/** For tests that start, stop or pause a Redis of their own (`startRedis`). */
export const describeWithOwnRedis: Describe = findRedisServer() === null ? describe.skip : describe;

/** For tests on a new database of the shared PostgreSQL (`freshDatabase`). */
export const describeWithPostgres: Describe = postgresIsAvailable() ? describe : describe.skip;

/** For tests that start, stop or kill a PostgreSQL of their own (`startPostgres`). */
export const describeWithOwnPostgres: Describe = findPostgresBin() === null ? describe.skip : describe;

/** For tests that attack with `slowhttptest`. */
export const describeWithSlowHttpTest: Describe = findSlowHttpTest() === null ? describe.skip : describe;
