/** README and docs/ match the program: names, files, commands, settings and limits. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import { parse, stringify } from 'yaml';
import { addClientCommands } from '../src/program/commands/client-commands.js';
import { addOpenApiCommand } from '../src/program/commands/openapi-command.js';
import { addBackupCommand } from '../src/program/commands/backup-command.js';
import { addBenchCommand } from '../src/program/commands/bench-command.js';
import { addServerJsonCommand } from '../src/program/commands/server-json-command.js';
import { CLIENT_VARIABLES } from '../src/config/client-environment.js';
import { ENVIRONMENT_VARIABLES } from '../src/config/model/environment.js';
import { THROTTLES, type ThrottleRow } from '../src/quota/model/throttle-rows.js';
import { METRICS } from '../src/platform/metrics.js';
import { makeCertificate } from './support/certificates.js';
import { configOf, problemsOf } from './support/config-files.js';
import { describeWithOpenssl } from './support/describe-with.js';

const markdown = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const FILES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...markdown('docs')];
const PAGES = new Map(FILES.map((file) => [file, readFileSync(file, 'utf8')]));
const page = (file: string) => PAGES.get(file) ?? '';
const ALL = [...PAGES.values()].join('\n');
const SOURCES = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && !name.startsWith('customers'))
  .map((name) => readFileSync(join('src', name), 'utf8'))
  .join('\n');

const unique = (names: Iterable<string>) => [...new Set(names)].toSorted();
const matches = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), ([, name = '']) => name);
/** Returns the fenced code blocks of a language. */
const blocks = (text: string, language: string) =>
  matches(text, new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'));
/** Inline and fenced code of all pages. */
const CODE = [...matches(ALL, /^```\w*\n([\s\S]*?)^```/gm), ...matches(ALL, /`([^`]+)`/g)].join('\n');

describe('docs/metrics.md', () => {
  const text = page('docs/metrics.md');
  const rows = new Map(
    matches(text, /^(\| `(?:trailgate|http_server)_.*)$/gm).map((row) => {
      const [, name = '', type = '', labels = ''] = row.split('|').map((cell) => cell.trim());
      return [name.replaceAll('`', ''), { type, labels: matches(labels, /`(\w+)`/g) }];
    }),
  );

  it('lists exactly the metrics of src/platform/metrics.ts, with type and labels', () => {
    const actual = Object.values(METRICS).map(({ name, kind, labelNames }) => [
      name,
      { type: kind, labels: labelNames },
    ]);
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(actual));
  });

  it('has a PromQL example for every metric', () => {
    const examples = blocks(text, 'promql').join('\n');
    expect([...rows.keys()].filter((name) => !examples.includes(name))).toEqual([]);
  });

  it('lists every metric that any page names', () => {
    const names = matches(ALL, /\b((?:trailgate|http_server)_[a-z_]+[a-z])/g);
    // `trailgate_export` is no metric, but the first member of an export.
    const known = (name: string) =>
      name === 'trailgate_export' || rows.has(name) || rows.has(name.replace(/_(?:bucket|sum|count)$/, ''));
    expect(unique(names).filter((name) => !known(name))).toEqual([]);
  });
});

describe('metric labels', () => {
  it('contain an account only in the metrics that docs/metrics.md names', () => {
    const [, named = ''] =
      /No label ever holds a key[\s\S]*?an account only ([\s\S]*?):/.exec(page('docs/metrics.md')) ?? [];
    const withAccount = Object.values(METRICS).filter(({ labelNames }) => labelNames.some((l) => /account/.test(l)));
    expect(unique(matches(named, /`(trailgate_\w+)`/g))).toEqual(withAccount.map(({ name }) => name).toSorted());
  });
});

describe('docs/log.md', () => {
  it('explains exactly the events that the program logs', () => {
    const [, table = ''] = /^\| event \|.*\n([\s\S]*?)\n\n/m.exec(page('docs/log.md')) ?? [];
    const documented = table.split('\n').flatMap((row) => matches(row.split('|')[1] ?? '', /`(\w+)`/g));
    const logged = matches(SOURCES, /"?event"?: ?["'](\w+)["']/g);
    expect(unique(documented)).toEqual(unique(logged));
  });
});

describe('docs/bounds.md', () => {
  const text = page('docs/bounds.md');
  const rows = matches(text, /^(\|.*\| `\w+` in `src\/\S+` \|)$/gm).map((row) =>
    row.split('|').map((cell) => cell.trim()),
  );

  it('lists every throttle with the values of the source', () => {
    const words = { store: 'together', process: 'in each process', database: 'in the database' };
    const table = matches(text, /^(\| `[\w-]+` \|.*\| (?:together|in each process|in the database) \|)$/gm);
    const listed = table.map((row) => {
      const [, name, , by, limit = '', span = '', counted] = row.split('|').map((cell) => cell.trim());
      return [name, by, quantity(limit), quantity(span), counted];
    });
    const rows: readonly ThrottleRow[] = Object.values(THROTTLES);
    expect(listed).toEqual(
      rows.map(({ name, by, limit, windowMs, counted }) => [`\`${name}\``, by, limit, windowMs, words[counted]]),
    );
    expect(unique(rows.map(({ name }) => name))).toHaveLength(rows.length);
  });

  it('lists every deadline and limit with the value of the source', () => {
    expect(rows.length).toBeGreaterThan(35);
    for (const [, what, bound = '', where = ''] of rows) {
      const [, name = '', file = ''] = /`(\w+)` in `(\S+)`/.exec(where) ?? [];
      const [, source] = new RegExp(`\\b${name}(?: =|:) ([\\d_ *]+)[;,]`).exec(readFileSync(file, 'utf8')) ?? [];
      expect([what, product(source)]).toEqual([what, quantity(bound)]);
    }
  });
});

/** Returns the value of a product such as `3 * 24 * 3_600_000`. */
function product(source: string | undefined): number {
  return (source ?? 'missing').split('*').reduce((value, factor) => value * Number(factor.replaceAll('_', '')), 1);
}

/** Returns the first quantity of a cell, such as `1.5 s` or `8,192 characters`, in ms, bytes or pieces. */
function quantity(cell: string): number {
  const units: Readonly<Record<string, number>> = { s: 1e3, h: 3.6e6, d: 8.64e7, KiB: 1_024, MiB: 1_048_576 };
  const [, value = '', unit = ''] = /^([\d.,]+) ?(\w*)/.exec(cell) ?? [];
  return Number(value.replaceAll(',', '')) * (units[unit] ?? 1);
}

describe('commands in the documentation', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const client = new Command();
  addClientCommands(client);
  addOpenApiCommand(client);
  addServerJsonCommand(client);
  addBackupCommand(client);
  addBenchCommand(client);
  const own = matches(readFileSync('src/program/program.ts', 'utf8'), /\.command\('(\w+)'\)/g);
  const commands = new Map([
    ...own.map((name): [string, string[]] => [name, []]),
    ...client.commands.map((command): [string, string[]] => [
      command.name(),
      command.commands.map((sub) => sub.name()),
    ]),
  ]);

  it('name only existing npm scripts, and README has the first three', () => {
    const named = [...matches(CODE, /npm run (?:-s )?(\S+)/g), ...matches(CODE, /npm (start|test)\b/g)];
    expect(unique(named).filter((name) => scripts[name] === undefined)).toEqual([]);
    for (const command of ['npm ci', 'npm start', 'npm test']) expect(page('README.md')).toContain(command);
  });

  it('name only existing trailgate commands', () => {
    const pattern = /(?<![\w/.:-])trailgate (?:-- )?([a-z]+(?:-[a-z]+)*)(?: ([a-z]+(?:-[a-z]+)*)\b)?/g;
    for (const [whole, name = '', sub] of CODE.matchAll(pattern)) {
      const subcommands = commands.get(name);
      expect([whole, subcommands !== undefined]).toEqual([whole, true]);
      expect([whole, sub === undefined || subcommands?.includes(sub)]).toEqual([whole, true]);
    }
  });

  it('are all listed in docs/commands.md, with their subcommands', () => {
    const listed = matches(page('docs/commands.md'), /^(\| `trailgate .*)$/gm).map((row): [string, string[]] => {
      const [, name = '', does = ''] = row.split('|');
      return [name.replaceAll(/`|trailgate/g, '').trim(), matches(does.split(':')[0] ?? '', /`([a-z-]+)`/g)];
    });
    const subcommandsOf = ([name, subs]: [string, string[]]) => [
      name,
      client.commands.some((c) => c.name() === name) ? subs : [],
    ];
    expect(Object.fromEntries(listed.map(subcommandsOf))).toEqual(Object.fromEntries(commands));
  });
});

describe('the client commands', () => {
  it('are as many as docs/commands.md counts', () => {
    const client = new Command();
    addClientCommands(client);
    const words = ['seven', 'eight', 'nine', 'ten', 'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen'];
    const [, count = ''] = /^The last (\w+) ask a running admin API/m.exec(page('docs/commands.md')) ?? [];
    expect(words.indexOf(count) + 7).toBe(client.commands.length);
  });
});

describe('names in the documentation', () => {
  it('include only environment variables that the program reads', () => {
    const text = FILES.filter((file) => file === 'README.md' || file.startsWith('docs'))
      .map(page)
      .join('\n');
    const named = matches(text, /\b(TRAILGATE_[A-Z_]+|DATABASE_URL|REDIS_URL|LOG_LEVEL|CUSTOMERS_[A-Z_]+)\b/g);
    expect(Object.keys({ ...ENVIRONMENT_VARIABLES, ...CLIENT_VARIABLES })).toEqual(
      // Each variable can also be read from a file, with the suffix _FILE.
      expect.arrayContaining(unique(named.map((name) => name.replace(/_FILE$/, '')))),
    );
  });

  it('include only existing files and folders', () => {
    const named = matches(ALL, /`((?:src|test|scripts|deploy|docs)\/[\w./-]+)`/g);
    expect(named.length).toBeGreaterThan(50);
    // Git does not keep empty folders, and this one may be empty.
    expect(unique(named).filter((path) => path !== 'test/security/' && !existsSync(path))).toEqual([]);
  });

  it('include only links that work within the repository', () => {
    for (const [file, text] of PAGES) {
      const links = matches(text.replaceAll(/^```[\s\S]*?^```/gm, ''), /\]\(([^)\s]+)\)/g);
      expect([file, links.filter((link) => isBroken(file, link))]).toEqual([file, []]);
    }
  });

  it('include every decision in docs/decisions/README.md, with its four sections', () => {
    const listed = matches(page('docs/decisions/README.md'), /\]\((\d{4}-[\w-]+\.md)\)/g);
    const files = readdirSync('docs/decisions').filter((name) => name !== 'README.md');
    expect(listed).toEqual(files.toSorted());
    for (const name of files)
      expect(page(`docs/decisions/${name}`)).toMatch(/Context[\s\S]*Decision[\s\S]*Consequences[\s\S]*Alternatives/);
  });
});

/** Reports whether a link within the repository is broken. Does not check web links. */
function isBroken(file: string, link: string): boolean {
  if (link.startsWith('https://')) return false;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? file : join(dirname(file), path);
  if (!existsSync(target)) return true;
  return anchor !== undefined && !headings(readFileSync(target, 'utf8')).includes(anchor);
}

/** Returns the anchors that GitHub creates for headings. */
function headings(text: string): string[] {
  return matches(text, /^#+ (.*)$/gm).map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('configurations in the documentation', () => {
  const samples = blocks(ALL, 'yaml').filter((text) => text.startsWith('# gateway.yaml'));

  it('pass trailgate check in every sample of gateway.yaml', async () => {
    expect(samples.length).toBeGreaterThan(0);
    for (const text of samples) await expect(configOf({ 'gateway.yaml': text })).resolves.toBeDefined();
  });

  it('include an example error in README that trailgate check reports', async () => {
    const [sample = ''] = samples;
    const [problem] = await problemsOf({ 'gateway.yaml': sample.replace('minute: 60', 'minut: 60') });
    expect(page('README.md')).toContain(
      `my.yaml:${problem?.line}:${problem?.column}  ${problem?.path}: ${problem?.message}`,
    );
    expect(page('README.md')).toContain(`→ ${problem?.hint}`);
  });
});

describeWithOpenssl('docs/recipes.md', () => {
  it('has only recipes that pass trailgate check within the sample of README', async () => {
    const [sample = ''] = blocks(page('README.md'), 'yaml').filter((text) => text.startsWith('# gateway.yaml'));
    const recipes = blocks(page('docs/recipes.md'), 'yaml').filter((text) => text.startsWith('# part of gateway.yaml'));
    expect(recipes.length).toBeGreaterThan(8);
    const folder = mkdtempSync(join(tmpdir(), 'trailgate-recipes-'));
    for (const name of ['tls', 'gateway', 'ca']) makeCertificate(folder, name);
    const certificates = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const);
    rmSync(folder, { recursive: true });
    for (const text of recipes) {
      const whole = stringify(merged(parse(sample), parse(text)));
      expect([text, await problemsOf({ ...Object.fromEntries(certificates), 'gateway.yaml': whole })]).toEqual([
        text,
        [],
      ]);
    }
  });
});

/** Merges part of a configuration into a whole one. An operation replaces the one with the same `match`. */
function merged(whole: unknown, piece: unknown): unknown {
  if (Array.isArray(whole) && Array.isArray(piece)) {
    const named = new Set(piece.map((entry: { match?: string }) => entry.match));
    const others = whole.filter((entry: { match?: string }) => entry.match !== undefined && !named.has(entry.match));
    return [...others, ...piece];
  }
  if (!isMembers(whole) || !isMembers(piece)) return piece;
  const members = Object.entries(piece).map(([name, value]) => [name, merged(whole[name], value)]);
  return { ...whole, ...Object.fromEntries(members) };
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
