/** Rules for the source that linters cannot check, such as imports between modules. */
import { describe, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Source files, without generated types. */
const files = globSync('src/**/*.{ts,tsx}', { exclude: ['src/panel/api/admin-api.d.ts'] }).toSorted();
const programFiles = files.filter((file) => !/\.spec\.tsx?$/.test(file));
const textOf = (file: string) => readFileSync(file, 'utf8');
/** Files that parse rows, messages and documents that the program itself has written. */
const PARSE_OWN_JSON = [
  'src/gateway/request/request-lines.ts',
  'src/accounts/api-key-list.ts',
  'src/records/audit-log.ts',
  'src/records/external-fields.ts',
  'src/accounts/oauth-client-keys.ts',
  'src/records/versions.ts',
  'src/admin/openapi/openapi-schemas.ts',
  'src/admin/request/idempotency.interceptor.ts',
  'src/program/commands/admin-client.ts',
  'src/config/tools/calling/tool-set.ts',
  'src/customers/database/customer-row.ts',
  'src/customers/events/event-poster.ts',
  'src/stores/database/cursor.ts',
  'src/outbox/fan-out.ts',
  'src/webhooks/deliveries/rows/lanes.ts',
  'src/webhooks/endpoints/endpoint-rows.ts',
  'src/webhooks/endpoints/webhook-endpoints.ts',
  'src/keys/api-key-columns.ts',
  'src/keys/redis-bus.ts',
  'src/mail/mail-outbox.ts',
  'src/mcp/tools/refusal-words.ts',
  'src/members/account-tokens.ts',
  'src/members/member-erasure.ts',
  'src/members/links.ts',
  'src/members/open-credentials.ts',
  'src/members/sessions.ts',
  'src/members/sign-in/passkeys.ts',
  'src/members/sign-in/sign-in-steps.ts',
  'src/nodes/node-status.ts',
  'src/authorization/clients/oauth-objects.ts',
  'src/platform/version.ts',
  'src/quota/usage/usage-rows.ts',
];
/** Returns the code without comments, which may mention forbidden code. */
const codeOf = (file: string) => textOf(file).replaceAll(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm, '');

/** Returns matching lines of code, as `file: line`. */
function linesWith(pattern: RegExp, allowed: RegExp): string[] {
  return programFiles
    .filter((file) => !allowed.test(file))
    .flatMap((file) =>
      codeOf(file)
        .split('\n')
        .flatMap((line) => (pattern.test(line) ? [`${file}: ${line.trim()}`] : [])),
    );
}

/** The modules of the program by floor, from the top. */
const { floors } = JSON.parse(readFileSync('scripts/modules.json', 'utf8')) as { readonly floors: readonly string[][] };
/** The panel and the example backend are separate programs. `.dependency-cruiser.cjs` defines what they can import. */
const OTHER_PROGRAMS = ['panel', 'customers'];
/** Returns the module of a file, such as `quota` for `src/quota/redis/redis-clock.ts`, or null outside src. */
const moduleOf = (file: string) => /^src\/([^/]+)/.exec(file)?.[1] ?? null;
const floorOf = (module: string | null) => floors.findIndex((modules) => modules.includes(module ?? ''));
const importedFiles = (file: string) =>
  Array.from(codeOf(file).matchAll(/\b(?:from|import\()\s*'(\.[^']+)'/g), ([, path = '']) => join(file, '..', path));

/** Returns an import cycle of folders, or null. */
function findCycle(imported: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const settled = new Set<string>();
  const walk = (folder: string, path: readonly string[]): string[] | null => {
    if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder];
    if (settled.has(folder)) return null;
    for (const next of imported.get(folder) ?? []) {
      const cycle = next === folder ? null : walk(next, [...path, folder]);
      if (cycle !== null) return cycle;
    }
    settled.add(folder);
    return null;
  };
  for (const folder of imported.keys()) {
    const cycle = walk(folder, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

/** Returns the modules of each floor that a page lists, from the top, in the first column of a table. */
function floorsSaidIn(text: string): string[][] {
  const rows = /^\| modules \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(text)?.[1]?.trimEnd().split('\n') ?? [];
  return rows.map((row) =>
    Array.from((row.split('|')[1] ?? '').matchAll(/`(?:src\/)?([\w.-]+)\/?`/g), ([, name = '']) => name),
  );
}

describe('the source', () => {
  it('has exactly the modules that docs/architecture.md lists, floor by floor', () => {
    expect(floorsSaidIn(readFileSync('docs/architecture.md', 'utf8'))).toEqual(floors);
    const modules = new Set(programFiles.map(moduleOf));
    expect([...modules].toSorted()).toEqual([...floors.flat(), ...OTHER_PROGRAMS].toSorted());
  });

  it('has no module that imports another module of its own floor or above', () => {
    const ours = programFiles.filter((file) => !OTHER_PROGRAMS.includes(moduleOf(file) ?? ''));
    const pairs = ours.flatMap((file) => importedFiles(file).map((imported) => [file, imported] as const));
    const betweenRooms = pairs.filter(
      ([file, imported]) => moduleOf(imported) !== null && moduleOf(imported) !== moduleOf(file),
    );
    expect(betweenRooms.length).toBeGreaterThan(1_000);
    const up = betweenRooms.filter(([file, imported]) => floorOf(moduleOf(imported)) <= floorOf(moduleOf(file)));
    expect(up.map(([file, imported]) => `${file} imports ${imported}`)).toEqual([]);
  });

  it('has no import cycle of folders', () => {
    const imported = new Map<string, Set<string>>();
    for (const file of programFiles) {
      const folders = importedFiles(file).map((each) => dirname(each));
      imported.set(dirname(file), new Set([...(imported.get(dirname(file)) ?? []), ...folders]));
    }
    expect(imported.size).toBeGreaterThan(50);
    expect(findCycle(imported)).toBeNull();
    const circle = ['a', 'b', 'c', 'a'] as const;
    expect(findCycle(new Map([0, 1, 2].map((at) => [circle[at]!, new Set([circle[at + 1]!])])))).toEqual(circle);
  });

  it('uses Node internals in one file only', () => {
    const internals = 'src/platform/node-internals.ts';
    const names = new Set(codeOf(internals).match(/\b(?:_\w+|httpAllowHalfOpen|maxRequestsOnConnectionReached)\b/g));
    expect(names).toContain('_handle');
    const touching = new RegExp(`\\b(?:${[...names].join('|')})\\b|\\._[a-z]|\\['_`);
    const touched = linesWith(touching, /^src\/(platform\/node-internals\.ts$|customers\/)/);
    expect(touched).toEqual([]);
  });

  it('does not call new Date() outside the clock and log', () => {
    expect(
      linesWith(
        /\bnew Date\(\)/,
        /^src\/(platform\/(clock|log)\.ts$|panel\/words\/clock\.ts$|reference\/webhooks\/webhook-samples\.ts$|customers\/)/,
      ),
    ).toEqual([]);
  });

  it('parses foreign JSON only in files that docs/architecture.md lists', () => {
    const table =
      /## Where foreign JSON is parsed\n((?:.|\n)*?)\n## /.exec(readFileSync('docs/architecture.md', 'utf8'))?.[1] ??
      '';
    const listed = Array.from(table.matchAll(/`(src\/[\w/-]+\.ts)`/g), ([, file = '']) => file);
    const parsers = programFiles.filter(
      (file) =>
        !/^src\/(panel|platform\/json)\//.test(file) && /JSON\.parse\(|readJson\(|parseExact\(/.test(codeOf(file)),
    );
    expect(parsers.filter((file) => !PARSE_OWN_JSON.includes(file))).toEqual(listed.toSorted());
    expect(PARSE_OWN_JSON.filter((file) => !parsers.includes(file))).toEqual([]);
  });

  it('splits comma-separated lists only in listed files', () => {
    const otherLists =
      /^src\/(http\/grammar\/fields|stores\/redis\/address|program\/(program|commands)|quota\/usage\/usage-query|admin\/[\w-]+\/[\w-]+-query)/;
    // Exceptions. X-Forwarded-* is read from its end, and transfer codings have parameters and an order.
    const special = /^src\/(keys\/clients\/client-address|gateway\/request\/(arrivals|framing)|customers\/)/;
    expect(linesWith(/split\(','\)/, new RegExp(`${otherLists.source}|${special.source}`))).toEqual([]);
  });

  it('has no doc comment that begins with a former name of its type', () => {
    const documented =
      /\/\*\*\s+\*?\s*([A-Z][a-z]+[A-Z]\w*) (?:is|are|has|holds|describes|stores|reads|keeps)\b(?:(?!\*\/)[\s\S])*\*\/\s+(?:export )?(?:abstract )?(?:class|interface|type) (\w+)/g;
    const names = programFiles.flatMap((file) =>
      Array.from(textOf(file).matchAll(documented), ([, first = '', declared = '']) => ({ file, first, declared })),
    );
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter(({ first, declared }) => first !== declared)).toEqual([]);
  });

  it('has unit tests that need no server and no build', () => {
    const wantServers = files.filter(
      (file) =>
        file.endsWith('.spec.ts') &&
        /describeWith\w*(Redis|Postgres)|describeOnDatabases|'postgres'\]|support\/program\.js|'dist\//.test(
          textOf(file),
        ),
    );
    expect(wantServers).toEqual([]);
  });
});
