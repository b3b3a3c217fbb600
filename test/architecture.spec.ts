/** The layout rules of the source hold: floors, no cycles, no barrels, no drawers, one place for time and environment. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** Types that a command writes. */
const GENERATED = 'src/panel/api/admin-api.d.ts';
/** Program files in one folder. */
const MAX_FILES = 40;

interface Cruise {
  readonly summary: {
    readonly violations: readonly {
      readonly from: string;
      readonly to: string;
      readonly rule: { readonly name: string };
    }[];
    readonly totalCruised: number;
  };
  readonly modules: readonly {
    readonly source: string;
    readonly dependencies: readonly { readonly resolved: string }[];
  }[];
}

function cruise(): Cruise {
  const depcruise = 'node_modules/.bin/depcruise';
  const { stdout, stderr } = spawnSync(process.execPath, [depcruise, '--output-type', 'json', 'src', 'test'], {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Cruise;
}

const files = globSync('src/**/*.{ts,tsx}', { exclude: [GENERATED] }).toSorted();
const programFiles = files.filter((file) => !/\.spec\.tsx?$/.test(file));
const textOf = (file: string) => readFileSync(file, 'utf8');
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

/**
 * Names that a function of a file speaks of above the line that declares them: a closure over what is not there yet. So each part is
 * constructed with what is there already, and no two of them can hold each other.
 */
function namedTooEarly(code: string): string[] {
  const [, ...functions] = code.split(/^(?=(?:export )?(?:async )?function )/m);
  return functions.flatMap((text) => {
    const [body = ''] = text.split(/^}$/m);
    const declared = body.matchAll(/^ {2,}(?:const|let) (?:\{([^}]*)\}|(\w+))/gm);
    return [...declared].flatMap(({ index, 1: several, 2: one }) => {
      const before = body.slice(body.indexOf('{\n'), index).replaceAll(/'[^'\n]*'/g, "''");
      const names = one === undefined ? (several?.match(/\w+(?=,| *$| =)/g) ?? []) : [one];
      return names.filter((name) => new RegExp(`(?<![.\\w])${name}\\b(?!:)`).test(before));
    });
  });
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
  let graph: Cruise;
  beforeAll(() => {
    graph = cruise();
  });

  it('imports downward only, without cycles, and only what exists', () => {
    expect(graph.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
    expect(graph.summary.totalCruised).toBeGreaterThan(files.length);
  });

  it.each(['docs/architecture.md', 'CONTRIBUTING.md'])('has the floors that %s says, folder by folder', (page) => {
    const floors = JSON.parse(readFileSync('scripts/floors.json', 'utf8')) as Record<string, string[]>;
    const here = (names: readonly string[]) => names.filter((name) => existsSync(`src/${name}`));
    const said = floorsSaidIn(readFileSync(page, 'utf8'));
    expect(said).toEqual(Object.values(floors).map((names) => here(names)));
  });

  it('has no two folders that import each other, over however many steps', () => {
    const edges = new Map<string, Set<string>>();
    for (const { source, dependencies } of graph.modules) {
      const from = folderOf(source);
      if (from === null || source.endsWith('.spec.ts')) continue;
      const targets = dependencies.map(({ resolved }) => folderOf(resolved));
      edges.set(
        from,
        new Set([...(edges.get(from) ?? []), ...targets.filter((to) => to !== null && to !== from)] as string[]),
      );
    }
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

  it('has no barrel and no drawer', () => {
    expect(files.filter((file) => basename(file) === 'index.ts')).toEqual([]);
    expect(files.filter((file) => /\/(common|shared|utils|helpers|misc)(\/|\.ts$)/.test(file))).toEqual([]);
  });

  it(`has no folder of more than ${MAX_FILES} program files`, () => {
    const sizes = new Map<string | null, number>();
    for (const file of programFiles) sizes.set(folderOf(file), (sizes.get(folderOf(file)) ?? 0) + 1);
    expect([...sizes].filter(([, size]) => size > MAX_FILES)).toEqual([]);
    expect(sizes.get(null)).toBe(1);
  });

  it('begins every file with what it is for', () => {
    expect(programFiles.filter((file) => !/^(#!.*\n)?\/\*\*/.test(textOf(file)))).toEqual([]);
  });

  it('reads the environment in the configuration only', () => {
    expect(linesWith(/\bprocess\.env\b/, /^src\/(config\/|main\.ts$|customers\/model\/config\.ts$)/)).toEqual([]);
  });

  it('touches what Node keeps to itself in one file only, which a test holds to the pinned Node', () => {
    const internals = 'src/platform/node-internals.ts';
    const names = new Set(codeOf(internals).match(/\b(?:_\w+|httpAllowHalfOpen|maxRequestsOnConnectionReached)\b/g));
    expect(names).toContain('_handle');
    const touching = new RegExp(`\\b(?:${[...names].join('|')})\\b|\\._[a-z]|\\['_`);
    const touched = linesWith(touching, /^src\/(platform\/node-internals\.ts$|customers\/)/);
    expect(touched).toEqual([]);
  });

  it('takes the time from the clock only, but for the time of a log line', () => {
    expect(
      linesWith(
        /\bDate\.now\(|\bnew Date\(\)/,
        /^src\/(platform\/(clock|log)\.ts$|panel\/words\/clock\.ts$|reference\/webhooks\/webhook-samples\.ts$|customers\/)/,
      ),
    ).toEqual([]);
  });

  it('imports nothing from the inside of Nest, but for the names under which it keeps what decorators say', () => {
    expect(linesWith(/from '@nestjs\/[^/']+\/[^']+'/, /^src\/admin\/openapi\/openapi-document\.ts$/)).toEqual([]);
  });

  it('puts parts together in the order of their needs, so that no two hold each other', () => {
    const assembling = programFiles.filter((file) => /\/open-[^/]*\.ts$/.test(file));
    expect(assembling).toContain('src/limits/open-quotas.ts');
    expect(assembling.flatMap((file) => namedTooEarly(codeOf(file)).map((name) => `${file}: ${name}`))).toEqual([]);
    const early = 'function open() {\n  const sink = new Sink(() => store.now);\n  const store = new Store(sink);\n}\n';
    expect(namedTooEarly(`\n${early}`)).toEqual(['store']);
  });

  it('is handed its clock: who puts the program together takes the system’s', () => {
    // A default of what tests call; the time of a line of the log, and of `Date`.
    const alsoTake =
      /^src\/(reference\/reference\.module|config\/load|gateway\/request\/log-line|http1\/client\/whole-response)/;
    const mayTake = new RegExp(`^src/(boot|cli|platform|customers)/|${alsoTake.source}`);
    expect(linesWith(/\bsystemClock\b/, mayTake)).toEqual([]);
  });

  it('parses lists of fields in one place', () => {
    const otherLists =
      /^src\/(http1\/grammar\/fields|redis\/address|boot\/program|usage\/usage-query|admin\/[\w-]+\/[\w-]+-query|cli\/)/;
    // X-Forwarded-* is read from its end, and a coding has its parameters and its place.
    const special = /^src\/(keys\/clients\/client-address|gateway\/request\/(arrivals|framing)|customers\/)/;
    expect(linesWith(/split\(','\)/, new RegExp(`${otherLists.source}|${special.source}`))).toEqual([]);
  });

  it('has no default export', () => {
    expect(linesWith(/^export default\b/, /^$/)).toEqual([]);
  });

  it('has tests beside it that need no server and no build: `npm run test:unit` starts and builds nothing', () => {
    const wantServers = files.filter(
      (file) =>
        file.endsWith('.spec.ts') && /describeWith\w*(Redis|Postgres)|support\/program\.js|'dist\//.test(textOf(file)),
    );
    expect(wantServers).toEqual([]);
  });

  it('is what these rules look at', () => {
    expect(files).toContain('src/problems/errors.ts');
    expect(existsSync('.dependency-cruiser.cjs')).toBe(true);
  });
});
