/**
 * Variants of `describe` for tests with requirements on the machine. If a requirement is missing, the tests are
 * reported as skipped, with the reason in their title. `npm test` lists the reasons at the end.
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
 * Returns `describe`, or a variant that skips its tests.
 * @param missing the missing requirement in a few words ("needs openssl"); null if there is none
 */
export function describeUnless(missing: string | null): Describe {
  if (missing === null) return describe;
  const skip: Describe = describe.skip;
  return (title, suite) => skip(titleOfSkipped(title, missing), suite);
}

const unless = (has: boolean, missing: string): Describe => describeUnless(has ? null : missing);
const hasOwnRedis = findRedisServer() !== null;

/** Runs tests that use the shared Redis (`sharedRedisUrl`). */
export const describeWithRedis = unless(redisIsAvailable(), 'needs Redis');

/** Runs tests that start, stop or pause their own Redis (`startRedis`). */
export const describeWithOwnRedis = unless(hasOwnRedis, 'needs redis-server');

/** Runs tests that use a new database in the shared PostgreSQL (`freshDatabase`). */
export const describeWithPostgres = unless(postgresIsAvailable(), 'needs PostgreSQL');

/** Runs tests that start, stop or kill their own PostgreSQL (`startPostgres`). */
export const describeWithOwnPostgres = unless(findPostgresBin() !== null, 'needs postgres and initdb');

/** Runs tests that start their own PgBouncer in front of the shared PostgreSQL. */
export const describeWithPgBouncer = unless(findPgBouncer() !== null && postgresIsAvailable(), 'needs pgbouncer');

/** Runs tests that use both the shared Redis and the shared PostgreSQL. */
export const describeWithBoth = unless(redisIsAvailable() && postgresIsAvailable(), 'needs Redis and PostgreSQL');

/** Runs tests that use the shared PostgreSQL and start their own Redis. */
export const describeWithOwnRedisAndPostgres = unless(
  hasOwnRedis && postgresIsAvailable(),
  'needs redis-server and PostgreSQL',
);

/** Runs tests that create certificates. */
export const describeWithOpenssl = unless(hasOpenssl, 'needs openssl');

/** Runs tests that start nginx. */
export const describeWithNginx = unless(findNginx() !== null, 'needs nginx');

/** Runs tests that run the `curl` lines that users copy. */
export const describeWithCurl = unless(onPath('curl') !== null, 'needs curl');

/** Runs tests that need git. */
export const describeWithGit = unless(onPath('git') !== null, 'needs git');

/** Runs tests that attack with `slowhttptest`. */
export const describeWithSlowHttpTest = unless(findSlowHttpTest() !== null, 'needs slowhttptest');

/** Runs tests that start their own Prometheus, or use `promtool`. */
export const describeWithPrometheus = unless(findPrometheus() !== null, 'needs prometheus and promtool');

/** Runs tests that use the panel in a browser. */
export const describeWithChromium = unless(findChromium() !== null, 'needs chromium');

/** Runs tests that read process information from `/proc`. */
export const describeWithProc = unless(existsSync('/proc/self/task'), 'needs the /proc of Linux');

/** Defines a suite for each database, titled `title on sqlite` and `title on postgres`. */
export function describeOnDatabases(title: string, suite: (kind: DatabaseHandle['kind']) => void): void {
  describe(`${title} on sqlite`, () => {
    suite('sqlite');
  });
  describeWithPostgres(`${title} on postgres`, () => suite('postgres'));
}

/** Defines a suite for each database, as `describeOnDatabases` does. Both suites also require the shared Redis. */
export function describeOnDatabasesWithRedis(title: string, suite: (kind: DatabaseHandle['kind']) => void): void {
  describeWithRedis(`${title} on sqlite`, () => suite('sqlite'));
  describeWithBoth(`${title} on postgres`, () => suite('postgres'));
}

/** Reports a test as skipped. For tests with a table of cases that omits cases with a missing requirement. */
export function reportSkipped(title: string, missing: string): void {
  describeUnless(missing)(title, () => it('runs', () => undefined));
}
