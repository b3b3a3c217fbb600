/**
 * A broken configuration is refused within a second, with a location, a reason and a hint.
 * The tables are in `test/support/broken-configs/`.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigProblem } from '../../src/config/model/problem.js';
import { RIGHT, type BrokenConfig } from '../support/broken-configs/broken-config.js';
import { FILES } from '../support/broken-configs/files.js';
import { loadBroken, placeOf, writeBroken, type Loaded } from '../support/broken-configs/load-broken.js';
import { OPENAPI } from '../support/broken-configs/openapi.js';
import { OPERATIONS } from '../support/broken-configs/operations.js';
import { TLS } from '../support/broken-configs/tls.js';
import { VALUES } from '../support/broken-configs/values.js';
import { YAML } from '../support/broken-configs/yaml.js';
import { measureSlowness } from '../support/cpu-time.js';
import { hasOpenssl, makeCertificate } from '../support/certificates.js';
import { temporaryFolder } from '../support/processes.js';
import { runTrailgate } from '../support/program.js';

const MAX_CPU_MS = 1_000;
/** CPU time varies on shared cores, so a slow case is measured again. */
const MEASUREMENTS = 4;
/**
 * Wording of libraries and badly formatted values, which must not appear. Quoted text is exempt because the operator
 * wrote it.
 */
const LIBRARY_WORDS = /Invalid input|Too (?:small|big)|expected|flow-|undefined|\[object|function|ERR_|NaN/;

/** Loads a configuration up to `MEASUREMENTS` times, until one load is fast enough. Returns the fastest load. */
async function loadQuickly(folder: string, variables?: Readonly<Record<string, string>>): Promise<Loaded> {
  let best = await loadBroken(folder, variables);
  for (let count = 1; count < MEASUREMENTS && best.cpuMs > MAX_CPU_MS; count += 1) {
    const again = await loadBroken(folder, variables);
    if (again.cpuMs < best.cpuMs) best = again;
  }
  return best;
}

function refusesAll(cases: readonly BrokenConfig[], prepare?: (folder: string) => void): void {
  it.each(cases.map((each) => [each[0], each] as const))(
    '%s',
    async (_, [, files, place, message, hint, variables]) => {
      const folder = temporaryFolder('broken');
      prepare?.(folder);
      writeBroken(folder, files);
      const { problems, cpuMs } = await loadQuickly(folder, variables);
      const told = problems.map((each) => `${placeOf(each)} ${each.message} → ${each.hint}`);
      const wanted = problems.filter((each) => each.message.includes(message) && each.hint.includes(hint));
      expect([told.slice(0, 5), wanted.map(placeOf)]).toEqual([told.slice(0, 5), expect.arrayContaining([place])]);
      expect(problems.filter((each) => !isComplete(each))).toEqual([]);
      expect(cpuMs).toBeLessThan(cpuMs < MAX_CPU_MS ? MAX_CPU_MS : MAX_CPU_MS * measureSlowness());
    },
  );
}

function isComplete({ line, column, message, hint }: ConfigProblem): boolean {
  return (
    line >= 1 && column >= 1 && message !== '' && hint !== '' && !LIBRARY_WORDS.test(message.replaceAll(/`[^`]*`/g, ''))
  );
}

const inherited = Reflect.ownKeys(Object.prototype);
beforeAll(async () => {
  // Compiles the schemas of each OpenAPI version first, so that no case includes that time.
  for (const version of ['3.0.3', '3.1.0']) {
    const folder = temporaryFolder('broken');
    const document = `openapi: ${version}\ninfo: { title: T, version: '1' }\npaths: 1\n`;
    writeBroken(folder, {
      'gateway.yaml': RIGHT.replace('targets', 'openapi: a.yaml\n    targets'),
      'a.yaml': document,
    });
    await loadBroken(folder);
  }
});

it('the tables have more than 200 broken configurations, and the one that they vary is valid', async () => {
  expect([FILES, YAML, VALUES, OPERATIONS, OPENAPI, TLS].flat().length).toBeGreaterThan(200);
  const folder = temporaryFolder('right');
  writeFileSync(join(folder, 'gateway.yaml'), RIGHT);
  expect((await loadBroken(folder)).problems).toEqual([]);
});

describe('a file is refused if it is or has', () => {
  refusesAll(FILES);
});
describe('YAML is refused with', () => {
  refusesAll(YAML);
});
describe('a setting is refused if it is or has', () => {
  refusesAll(VALUES);
});
describe('operations and variables are refused with', () => {
  refusesAll(OPERATIONS);
});
describe('an OpenAPI document is refused if it is or has', () => {
  refusesAll(OPENAPI);
});

(hasOpenssl ? describe : describe.skip)('TLS is refused with', () => {
  const made = hasOpenssl ? temporaryFolder('tls') : '';
  beforeAll(() => {
    makeCertificate(made, 'a');
    makeCertificate(made, 'b');
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: made, stdio: 'ignore' });
    openssl('x509', '-in', 'a.crt', '-outform', 'der', '-out', 'der.crt');
    openssl('pkey', '-in', 'a.key', '-aes256', '-passout', 'pass:x', '-out', 'encrypted.key');
    writeFileSync(join(made, 'empty.pem'), '');
  });
  refusesAll(TLS, (folder) => cpSync(made, folder, { recursive: true }));
});

describe('a file without read permission', () => {
  it('is reported as such', async () => {
    const folder = temporaryFolder('broken');
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, RIGHT, { mode: 0 });
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      const { problems } = await loadBroken(folder);
      expect(problems).toMatchObject([{ line: 1, column: 1, message: 'cannot be read: permission is denied' }]);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });
});

describe('trailgate check', () => {
  const pick = (cases: readonly BrokenConfig[], name: string): BrokenConfig =>
    cases.find((each) => each[0] === name) ?? [`no case ${name}`, {}, '', '', ''];

  it.each([
    pick(FILES, 'a named pipe, to which nobody writes'),
    pick(FILES, 'a million events'),
    pick(FILES, 'aliases of aliases: billion laughs'),
    pick(FILES, 'brackets that are never closed'),
    pick(YAML, 'a plan called __proto__'),
    pick(YAML, 'two documents'),
    pick(OPERATIONS, 'a wildcard'),
    pick(OPENAPI, 'path items that are each other'),
  ])('reports the problem as text and as JSON, and exits with 1: %s', async (_, files, place, message, hint) => {
    const folder = temporaryFolder('broken');
    writeBroken(folder, files);
    const [text, json] = await Promise.all(
      [[], ['--json']].map((more) => runTrailgate(['check', '--config', 'gateway.yaml', ...more], { cwd: folder })),
    );
    expect(text).toMatchObject({ code: 1, signal: null, stderr: '' });
    const line = place.includes(':') && place.split(':').length === 3 ? place : `gateway.yaml:${place}`;
    expect(text?.stdout).toContain(`${line} `);
    expect(text?.stdout).toContain(message);
    expect(text?.stdout).toContain(`→ `);
    expect(text?.stdout).toContain(hint);
    expect(text?.stdout).toMatch(/\n\n\d+ problems?/);
    expect(json).toMatchObject({ code: 1, signal: null, stderr: '' });
    const document = JSON.parse(json?.stdout ?? '') as { valid: boolean; problems: ConfigProblem[] };
    expect(document.valid).toBe(false);
    expect(document.problems.map(placeOf)).toContain(place);
    expect(document.problems.every(isComplete)).toBe(true);
  });
});

it('no broken configuration pollutes Object.prototype', () => {
  expect(Reflect.ownKeys(Object.prototype)).toEqual(inherited);
});
