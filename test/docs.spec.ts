/** README and docs/ say what the program has: a name, file, command, setting or bound that is gone, or new, is found here. */
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
/** Fenced blocks of a language. */
const blocks = (text: string, language: string) =>
  matches(text, new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'));
/** Everything that is set as code, in a line or fenced. */
const CODE = [...matches(ALL, /^```\w*\n([\s\S]*?)^```/gm), ...matches(ALL, /`([^`]+)`/g)].join('\n');

describe('docs/metrics.md', () => {
  const text = page('docs/metrics.md');
  const rows = new Map(
    matches(text, /^(\| `(?:trailgate|http_server)_.*)$/gm).map((row) => {
      const [, name = '', type = '', labels = ''] = row.split('|').map((cell) => cell.trim());
      return [name.replaceAll('`', ''), { type, labels: matches(labels, /`(\w+)`/g) }];
    }),
  );

  it('has every metric of src/platform/metrics.ts with its type and labels, and no other', () => {
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

  it('no page names a metric that does not exist', () => {
    const names = matches(ALL, /\b((?:trailgate|http_server)_[a-z_]+[a-z])/g);
    // The first member of an export.
    const known = (name: string) =>
      name === 'trailgate_export' || rows.has(name) || rows.has(name.replace(/_(?:bucket|sum|count)$/, ''));
    expect(unique(names).filter((name) => !known(name))).toEqual([]);
  });
});

describe('labels', () => {
  it('hold an account in those metrics only that docs/metrics.md names beside the rule', () => {
    const [, named = ''] =
      /No label ever holds a key[\s\S]*?an account only ([\s\S]*?):/.exec(page('docs/metrics.md')) ?? [];
    const withAccount = Object.values(METRICS).filter(({ labelNames }) => labelNames.some((l) => /account/.test(l)));
    expect(unique(matches(named, /`(trailgate_\w+)`/g))).toEqual(withAccount.map(({ name }) => name).toSorted());
  });
});

describe('docs/log.md', () => {
  it('explains every event that the program logs, and no other', () => {
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

  it('lists every throttle as the source has it', () => {
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

  it('gives every deadline and bound as the source has it', () => {
    expect(rows.length).toBeGreaterThan(35);
    for (const [, what, bound = '', where = ''] of rows) {
      const [, name = '', file = ''] = /`(\w+)` in `(\S+)`/.exec(where) ?? [];
      const [, source] = new RegExp(`\\b${name}(?: =|:) ([\\d_ *]+)[;,]`).exec(readFileSync(file, 'utf8')) ?? [];
      expect([what, product(source)]).toEqual([what, quantity(bound)]);
    }
  });
});

/** `3 * 24 * 3_600_000` */
function product(source: string | undefined): number {
  return (source ?? 'missing').split('*').reduce((value, factor) => value * Number(factor.replaceAll('_', '')), 1);
}

/** The first quantity of a cell, `1.5 s` or `8,192 characters`, in milliseconds, bytes or pieces. */
function quantity(cell: string): number {
  const units: Readonly<Record<string, number>> = { s: 1e3, h: 3.6e6, d: 8.64e7, KiB: 1_024, MiB: 1_048_576 };
  const [, value = '', unit = ''] = /^([\d.,]+) ?(\w*)/.exec(cell) ?? [];
  return Number(value.replaceAll(',', '')) * (units[unit] ?? 1);
}

describe('commands', () => {
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

  it('every npm script that is named exists, and the first three are in README', () => {
    const named = [...matches(CODE, /npm run (?:-s )?(\S+)/g), ...matches(CODE, /npm (start|test)\b/g)];
    expect(unique(named).filter((name) => scripts[name] === undefined)).toEqual([]);
    for (const command of ['npm ci', 'npm start', 'npm test']) expect(page('README.md')).toContain(command);
  });

  it('every command of trailgate that is named exists', () => {
    const pattern = /(?<![\w/.:-])trailgate (?:-- )?([a-z]+(?:-[a-z]+)*)(?: ([a-z]+(?:-[a-z]+)*)\b)?/g;
    for (const [whole, name = '', sub] of CODE.matchAll(pattern)) {
      const subcommands = commands.get(name);
      expect([whole, subcommands !== undefined]).toEqual([whole, true]);
      expect([whole, sub === undefined || subcommands?.includes(sub)]).toEqual([whole, true]);
    }
  });

  it('docs/commands.md lists every command with its subcommands', () => {
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
  it('are as many as docs/commands.md says', () => {
    const client = new Command();
    addClientCommands(client);
    const words = ['seven', 'eight', 'nine', 'ten', 'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen'];
    const [, count = ''] = /^The last (\w+) ask a running admin API/m.exec(page('docs/commands.md')) ?? [];
    expect(words.indexOf(count) + 7).toBe(client.commands.length);
  });
});

describe('names', () => {
  it('every environment variable that README and docs name is read by the program', () => {
    const text = FILES.filter((file) => file === 'README.md' || file.startsWith('docs'))
      .map(page)
      .join('\n');
    const named = matches(text, /\b(TRAILGATE_[A-Z_]+|DATABASE_URL|REDIS_URL|LOG_LEVEL|CUSTOMERS_[A-Z_]+)\b/g);
    expect(Object.keys({ ...ENVIRONMENT_VARIABLES, ...CLIENT_VARIABLES })).toEqual(
      // Any of them can be read from a file.
      expect.arrayContaining(unique(named.map((name) => name.replace(/_FILE$/, '')))),
    );
  });

  it('every file and folder that is named exists', () => {
    const named = matches(ALL, /`((?:src|test|scripts|deploy|docs)\/[\w./-]+)`/g);
    expect(named.length).toBeGreaterThan(50);
    // git keeps no empty folder, and the one for attacks is named before there is one.
    expect(unique(named).filter((path) => path !== 'test/security/' && !existsSync(path))).toEqual([]);
  });

  it('every link leads somewhere', () => {
    for (const [file, text] of PAGES) {
      const links = matches(text.replaceAll(/^```[\s\S]*?^```/gm, ''), /\]\(([^)\s]+)\)/g);
      expect([file, links.filter((link) => isBroken(file, link))]).toEqual([file, []]);
    }
  });

  it('docs/decisions/README.md lists every decision', () => {
    const listed = matches(page('docs/decisions/README.md'), /\]\((\d{4}-[\w-]+\.md)\)/g);
    const files = readdirSync('docs/decisions').filter((name) => name !== 'README.md');
    expect(listed).toEqual(files.toSorted());
    for (const name of files)
      expect(page(`docs/decisions/${name}`)).toMatch(/Context[\s\S]*Decision[\s\S]*Consequences[\s\S]*Alternatives/);
  });
});

/** Whether a link inside the repository leads nowhere; what is on the web is not asked. */
function isBroken(file: string, link: string): boolean {
  if (link.startsWith('https://')) return false;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? file : join(dirname(file), path);
  if (!existsSync(target)) return true;
  return anchor !== undefined && !headings(readFileSync(target, 'utf8')).includes(anchor);
}

/** Anchors as GitHub makes them. */
function headings(text: string): string[] {
  return matches(text, /^#+ (.*)$/gm).map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('configurations', () => {
  const samples = blocks(ALL, 'yaml').filter((text) => text.startsWith('# gateway.yaml'));

  it('every sample of gateway.yaml passes trailgate check', async () => {
    expect(samples.length).toBeGreaterThan(0);
    for (const text of samples) await expect(configOf({ 'gateway.yaml': text })).resolves.toBeDefined();
  });

  it("README's example of a mistake is what trailgate check says", async () => {
    const [sample = ''] = samples;
    const [problem] = await problemsOf({ 'gateway.yaml': sample.replace('minute: 60', 'minut: 60') });
    expect(page('README.md')).toContain(
      `my.yaml:${problem?.line}:${problem?.column}  ${problem?.path}: ${problem?.message}`,
    );
    expect(page('README.md')).toContain(`→ ${problem?.hint}`);
  });
});

describeWithOpenssl('docs/recipes.md', () => {
  it('every recipe, put into the sample of README, passes trailgate check', async () => {
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

/** A piece of configuration put into a whole one: members into members; an operation takes the place of its like. */
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
