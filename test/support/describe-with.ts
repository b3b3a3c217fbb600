/**
 * `describe` for tests that need something of the machine. Where it is missing they are reported as skipped, never as passed, and their title
 * says why: `npm test` lists the reasons at its end.
 */
import { describe, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { hasOpenssl } from './certificates.js';
import {
  findChromium,
  findNginx,
  findPgBouncer,
  findPostgresBin,
  findPrometheus,
  findRedisServer,
  findSlowHttpTest,
  onPath,
  postgresIsAvailable,
  redisIsAvailable,
} from './servers.js';
import { titleOfSkipped } from './skipped.js';

type Suite = () => void;
type Describe = (title: string, suite: Suite) => void;

/**
 * `describe`, or one that skips.
 * @param missing What the machine lacks, in a few words ("needs openssl"); null where it lacks nothing.
 */
export function describeUnless(missing: string | null): Describe {
  if (missing === null) return describe;
  const skip: Describe = describe.skip;
  return (title, suite) => skip(titleOfSkipped(title, missing), suite);
}

const unless = (has: boolean, missing: string): Describe => describeUnless(has ? null : missing);
const hasOwnRedis = findRedisServer() !== null;

/** For tests on the shared Redis (`sharedRedisUrl`). */
export const describeWithRedis = unless(redisIsAvailable(), 'needs Redis');

/** For tests that start, stop or pause a Redis of their own (`startRedis`). */
export const describeWithOwnRedis = unless(hasOwnRedis, 'needs redis-server');

/** For tests on a new database of the shared PostgreSQL (`freshDatabase`). */
export const describeWithPostgres = unless(postgresIsAvailable(), 'needs PostgreSQL');

/** For tests that start, stop or kill a PostgreSQL of their own (`startPostgres`). */
export const describeWithOwnPostgres = unless(findPostgresBin() !== null, 'needs postgres and initdb');

/** For tests behind a PgBouncer of their own, which shares sessions of the shared PostgreSQL. */
export const describeWithPgBouncer = unless(findPgBouncer() !== null && postgresIsAvailable(), 'needs pgbouncer');

/** For tests of both servers together: the shared ones. */
export const describeWithBoth = unless(redisIsAvailable() && postgresIsAvailable(), 'needs Redis and PostgreSQL');

/** For tests on the shared PostgreSQL that start a Redis of their own. */
export const describeWithOwnRedisAndPostgres = unless(
  hasOwnRedis && postgresIsAvailable(),
  'needs redis-server and PostgreSQL',
);

/** For tests that make certificates. */
export const describeWithOpenssl = unless(hasOpenssl, 'needs openssl');

/** For tests behind nginx. */
export const describeWithNginx = unless(findNginx() !== null, 'needs nginx');

/** For tests that run the `curl` lines that users copy. */
export const describeWithCurl = unless(onPath('curl') !== null, 'needs curl');

/** For tests of what git runs. */
export const describeWithGit = unless(onPath('git') !== null, 'needs git');

/** For tests that attack with `slowhttptest`. */
export const describeWithSlowHttpTest = unless(findSlowHttpTest() !== null, 'needs slowhttptest');

/** For tests that are answered by a Prometheus of their own, or by its checker. */
export const describeWithPrometheus = unless(findPrometheus() !== null, 'needs prometheus and promtool');

/** For tests that use the panel as a person does. */
export const describeWithChromium = unless(findChromium() !== null, 'needs chromium');

/** For tests that read what the kernel tells of a process. */
export const describeWithProc = unless(existsSync('/proc/self/task'), 'needs the /proc of Linux');

/** A suite for each database: `title on sqlite`, `title on postgres`. */
export function describeOnDatabases(title: string, suite: (kind: DatabaseHandle['kind']) => void): void {
  describe(`${title} on sqlite`, () => {
    suite('sqlite');
  });
  describeWithPostgres(`${title} on postgres`, () => suite('postgres'));
}

/** The same for suites that use the shared Redis, too. */
export function describeOnDatabasesWithRedis(title: string, suite: (kind: DatabaseHandle['kind']) => void): void {
  describeWithRedis(`${title} on sqlite`, () => suite('sqlite'));
  describeWithBoth(`${title} on postgres`, () => suite('postgres'));
}

/** Reports a test as skipped that a table of cases leaves out where something is missing. */
export function reportSkipped(title: string, missing: string): void {
  describeUnless(missing)(title, () => it('runs', () => undefined));
}
