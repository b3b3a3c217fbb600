/** Rules of the source that the linters cannot check: no cycles between folders, one place for each fact. */
import { describe, expect, it } from '@jest/globals';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Without the types that a command writes. */
const files = globSync('src/**/*.{ts,tsx}', { exclude: ['src/panel/api/admin-api.d.ts'] }).toSorted();
const programFiles = files.filter((file) => !/\.spec\.tsx?$/.test(file));
const textOf = (file: string) => readFileSync(file, 'utf8');
/** They parse rows, messages and documents that the program itself has written. */
const PARSE_OWN_JSON = [
  'src/accounts/api-key-list.ts',
  'src/accounts/audit-log.ts',
  'src/accounts/idempotent-requests.ts',
  'src/accounts/let-in-keys.ts',
  'src/accounts/versions.ts',
  'src/admin/openapi/openapi-schemas.ts',
  'src/admin/request/idempotency.interceptor.ts',
  'src/cli/admin-client.ts',
  'src/config/tools/calling/tool-set.ts',
  'src/customers/database/customer-row.ts',
  'src/customers/events/event-poster.ts',
  'src/database/cursor.ts',
  'src/events/deliveries/fan-out.ts',
  'src/events/deliveries/lane-endpoints.ts',
  'src/events/endpoints/endpoint-rows.ts',
  'src/events/endpoints/webhook-endpoints.ts',
  'src/keys/api-key-columns.ts',
  'src/keys/redis-bus.ts',
  'src/mail/mail-outbox.ts',
  'src/mcp/tools/refusal-words.ts',
  'src/members/account-tokens.ts',
  'src/members/forgetting.ts',
  'src/members/links.ts',
  'src/members/open-credentials.ts',
  'src/members/sessions.ts',
  'src/members/sign-in/passkeys.ts',
  'src/members/sign-in/steps.ts',
  'src/nodes/node-statement.ts',
  'src/oauth/oauth-objects.ts',
  'src/platform/version.ts',
  'src/usage/usage-rows.ts',
];
/** The code without its comments, which may speak of what the code must not do. */
const codeOf = (file: string) => textOf(file).replaceAll(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm, '');

/** Files whose code matches, as `file:line`. */
function linesWith(pattern: RegExp, allowed: RegExp): string[] {
  return programFiles
    .filter((file) => !allowed.test(file))
    .flatMap((file) =>
      codeOf(file)
        .split('\n')
        .flatMap((line) => (pattern.test(line) ? [`${file}: ${line.trim()}`] : [])),
    );
}

/** `src/limits/redis/redis-clock.ts` → `limits/redis`; null for a file at the top of src, and for what is not in src. */
const folderOf = (file: string) => /^src\/(.+)\/[^/]+$/.exec(file)?.[1] ?? null;
/** The folders that a file imports from. */
const importedFolders = (file: string) =>
  Array.from(codeOf(file).matchAll(/\b(?:from|import\()\s*'(\.[^']+)'/g), ([, path = '']) =>
    folderOf(join(file, '..', path)),
  );

/** A way through the folders that comes back to where it began, or null. */
function findFolderCycle(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const settled = new Set<string>();
  const walk = (folder: string, path: readonly string[]): string[] | null => {
    if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder];
    if (settled.has(folder)) return null;
    for (const next of edges.get(folder) ?? []) {
      const cycle = walk(next, [...path, folder]);
      if (cycle !== null) return cycle;
    }
    settled.add(folder);
    return null;
  };
  for (const folder of edges.keys()) {
    const cycle = walk(folder, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

/** The folders of each floor, from the top: rows of a table, or the first numbered list. What is to come is named behind a semicolon. */
function floorsSaidIn(text: string): string[][] {
  const rows = /^\| floor \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(text)?.[1]?.trimEnd().split('\n');
  const first = /^1\. (?:.|\n(?!\n))*/m.exec(text)?.[0] ?? '';
  const list = Array.from(
    first.matchAll(/^\d\. ((?:.|\n(?! ?\d\.|\n))*)/gm),
    ([, item = '']) => item.split('; `mcp')[0] ?? '',
  );
  return (rows ?? list).map((floor) =>
    Array.from(floor.matchAll(/`(?:src\/)?([a-z0-9-]+(?:\.ts|\/))`/g), ([, name = '']) => name.replace('/', '')),
  );
}

describe('the source', () => {
  it.each(['docs/architecture.md', 'CONTRIBUTING.md'])('has the floors that %s says, folder by folder', (page) => {
    const floors = JSON.parse(readFileSync('scripts/floors.json', 'utf8')) as Record<string, string[]>;
    const here = (names: readonly string[]) => names.filter((name) => existsSync(`src/${name}`));
    const said = floorsSaidIn(readFileSync(page, 'utf8'));
    expect(said).toEqual(Object.values(floors).map((names) => here(names)));
  });

  it('has no two folders that import each other, over however many steps', () => {
    const edges = new Map<string, Set<string>>();
    for (const file of programFiles) {
      const from = folderOf(file);
      if (from === null) continue;
      const targets = importedFolders(file);
      edges.set(
        from,
        new Set([...(edges.get(from) ?? []), ...targets.filter((to) => to !== null && to !== from)] as string[]),
      );
    }
    expect(edges.size).toBeGreaterThan(50);
    expect(findFolderCycle(edges)).toBeNull();
    expect(
      findFolderCycle(
        new Map([
          ['a', new Set(['b'])],
          ['b', new Set(['c'])],
          ['c', new Set(['a'])],
        ]),
      ),
    ).not.toBeNull();
  });

  it('touches what Node keeps to itself in one file only, which a test holds to the pinned Node', () => {
    const internals = 'src/platform/node-internals.ts';
    const names = new Set(codeOf(internals).match(/\b(?:_\w+|httpAllowHalfOpen|maxRequestsOnConnectionReached)\b/g));
    expect(names).toContain('_handle');
    const touching = new RegExp(`\\b(?:${[...names].join('|')})\\b|\\._[a-z]|\\['_`);
    const touched = linesWith(touching, /^src\/(platform\/node-internals\.ts$|customers\/)/);
    expect(touched).toEqual([]);
  });

  it('makes no date of the time that it is: `Date.now()` is for the linter', () => {
    expect(
      linesWith(
        /\bnew Date\(\)/,
        /^src\/(platform\/(clock|log)\.ts$|panel\/words\/clock\.ts$|reference\/webhooks\/webhook-samples\.ts$|customers\/)/,
      ),
    ).toEqual([]);
  });

  it('parses foreign JSON in the files that docs/architecture.md names, and else only what the program has written', () => {
    const table =
      /## Where foreign JSON is parsed\n((?:.|\n)*?)\n## /.exec(readFileSync('docs/architecture.md', 'utf8'))?.[1] ??
      '';
    const said = Array.from(table.matchAll(/`(src\/[\w/-]+\.ts)`/g), ([, file = '']) => file);
    const parsers = programFiles.filter(
      (file) =>
        !/^src\/(panel|platform\/json)\//.test(file) && /JSON\.parse\(|readJson\(|parseExact\(/.test(codeOf(file)),
    );
    expect(parsers.filter((file) => !PARSE_OWN_JSON.includes(file))).toEqual(said.toSorted());
    expect(PARSE_OWN_JSON.filter((file) => !parsers.includes(file))).toEqual([]);
  });

  it('parses lists of fields in one place', () => {
    const otherLists =
      /^src\/(http1\/grammar\/fields|redis\/address|boot\/program|usage\/usage-query|admin\/[\w-]+\/[\w-]+-query|cli\/)/;
    // X-Forwarded-* is read from its end, and a coding has its parameters and its place.
    const special = /^src\/(keys\/clients\/client-address|gateway\/request\/(arrivals|framing)|customers\/)/;
    expect(linesWith(/split\(','\)/, new RegExp(`${otherLists.source}|${special.source}`))).toEqual([]);
  });

  it('has tests beside it that need no server and no build: `npm run test:unit` starts and builds nothing', () => {
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
