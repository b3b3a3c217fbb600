/** `trailgate check`: text for people, JSON for scripts, and the exit code. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI } from '../../../test/support/config-files.js';
import { checkCommand } from './check.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trailgate-check-'));
  await writeFile(join(folder, 'customers.yaml'), OPENAPI);
});
afterEach(() => rm(folder, { recursive: true }));

async function check(text: string, json = false, columns?: number): Promise<{ code: number; output: string }> {
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, text);
  let output = '';
  const code = await checkCommand(file, { json, columns, write: (part) => (output += part) });
  return { code, output };
}

describe('trailgate check', () => {
  it('shows what would be published, and exits with 0', async () => {
    const { code, output } = await check(MINIMAL);
    expect(code).toBe(0);
    expect(output).toContain('is valid. Integrators reach http://localhost:8080/api/v1');
    expect(output).toMatch(/^POST +\/api\/v1\/customers +customers +customers:write +5$/m);
    expect(output).toMatch(/^starter +60 +- +- +- +- +- +local +all$/m);
  });

  it('suggests a health check for services that have none, and only for those', async () => {
    expect((await check(MINIMAL)).output).toContain('Hint: no health check for customers.');
    const { output } = await check(MINIMAL.replace(/^( +)targets:/m, '$1health: { path: /health }\n$1targets:'));
    expect(output).toContain('is valid');
    expect(output).not.toContain('Hint');
  });

  it('shows every problem with file, line, column, hint and the count, and exits with 1', async () => {
    const { code, output } = await check(MINIMAL.replace('targets', 'target').replace('minute', 'minutes'));
    expect(code).toBe(1);
    expect(output).toMatch(
      /gateway\.yaml:4:5 +services\.customers\.target: unknown key `target`\n +→ did you mean `targets`\?/,
    );
    expect(output).toMatch(/\n\n3 problems\n$/);
  });

  it('warns about valid settings that are probably mistakes, and exits with 0', async () => {
    const { code, output } = await check(MINIMAL.replace('minute: 60', 'minute: 4'));
    expect(code).toBe(0);
    expect(output).toMatch(
      /gateway\.yaml:7:\d+ +plans\.starter\.key\.minute: POST \/customers \(5\) costs more than this limit of 4/,
    );
    expect(output).toMatch(/\n\n1 warning\n\n/);
    expect(output).toContain('is valid.');
    const json = JSON.parse((await check(MINIMAL.replace('minute: 60', 'minute: 4'), true)).output) as object;
    expect(json).toMatchObject({ valid: true, problems: [], warnings: [{ path: 'plans.starter.key.minute' }] });
  });

  it('prints operations or problems as JSON for scripts', async () => {
    const right = JSON.parse((await check(MINIMAL, true)).output) as { valid: boolean; operations: { path: string }[] };
    expect(right.valid).toBe(true);
    expect(right.operations.map((operation) => operation.path)).toContain('/api/v1/customers/{id}');
    const wrong = await check(MINIMAL.replace('4001', '99999'), true);
    expect(wrong.code).toBe(1);
    expect(JSON.parse(wrong.output)).toMatchObject({
      valid: false,
      problems: [{ line: 4, path: 'services.customers.targets[0]' }],
    });
  });

  it('reports a wrong environment together with the file', async () => {
    process.env['LOG_LEVEL'] = 'loud';
    try {
      const { code, output } = await check('plans: {}');
      expect(code).toBe(1);
      expect(output).toContain('LOG_LEVEL must be one of');
      expect(output).toContain('`services` is missing');
    } finally {
      delete process.env['LOG_LEVEL'];
    }
  });

  it('wraps lines between words in a narrow terminal, and nowhere else', async () => {
    const text = MINIMAL.replace('starter', 'Starter').replace('minute: 60', 'minute: -1') + 'frobnicate: 1\n';
    const wide = await check(text);
    for (const columns of [80, 50]) {
      const { output } = await check(text, false, columns);
      const lines = output.split('\n').filter((line) => line.includes(' '));
      expect(lines.filter((line) => line.length > columns && !line.includes('/'))).toEqual([]);
      const words = (all: string) => all.split(/\s+/).filter(Boolean);
      expect(words(output)).toEqual(words(wide.output));
    }
    expect(wide.output.split('\n').some((line) => line.length > 80)).toBe(true);
  });

  it('shows the first hundred of many problems and their number, and all of them as JSON', async () => {
    const text = `${MINIMAL}${Array.from({ length: 150 }, (_, index) => `key${index}: 1`).join('\n')}\n`;
    const { output } = await check(text);
    expect(output.match(/unknown key/g)).toHaveLength(100);
    expect(output).toMatch(/\n\n150 problems; the first 100 are shown\n$/);
    const { problems } = JSON.parse((await check(text, true)).output) as { problems: unknown[] };
    expect(problems).toHaveLength(150);
  });

  it.each([
    ['a text that a comment cuts off', 'api: { title: Shop #1\n}', 'api.title', 'a comment begins'],
    ['a variable without braces', 'api: { title: $TITLE }', 'api.title', '`$TITLE` is not replaced'],
    [
      'a path that repeats the base path',
      'operations: [{ match: GET /api/v1/x, service: customers, scopes: [] }]',
      'operations[0]',
      'is reached at /api/v1/api/v1/x',
    ],
  ])('warns about %s, and accepts it', async (_, line, path, words) => {
    const { code, output } = await check(`${MINIMAL}${line}\n`, true);
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({
      valid: true,
      warnings: [{ path, message: expect.stringContaining(words), hint: expect.stringMatching(/\w/) }],
    });
  });

  it('lists tools with their token cost, and warns about missing descriptions and too many tools', async () => {
    const published = (entries: string) => `${MINIMAL}operations:\n${entries}`;
    const list = '  - { match: GET /customers, mcp: { title: List, description: "Lists customers, newest first." } }\n';
    const create = '  - { match: POST /customers, mcp: true }\n';
    const { code, output } = await check(published(list));
    expect(code).toBe(0);
    expect(output).toMatch(/^list_customers +List +GET \/customers +\d+$/m);
    expect(output).toMatch(/^1 tool for AI assistants, about \d+ tokens \(a quarter of the characters\)$/m);
    expect(output).not.toContain('warning');

    const poor = await check(published(list + create));
    expect(poor.output).toMatch(/gateway\.yaml:\d+:\d+ +operations\[1\]\.mcp: no description: `post_customers`/);
    expect(poor.output).toMatch(/^2 tools for AI assistants/m);
    const json = JSON.parse((await check(published(list + create), true)).output) as { tools: { tokens: number }[] };
    expect(json.tools).toMatchObject([
      { name: 'list_customers', title: 'List', operation: 'listCustomers' },
      { name: 'post_customers', operation: 'post_customers' },
    ]);
    expect(Math.min(...json.tools.map(({ tokens: each }) => each))).toBeGreaterThan(20);

    const tool = 'mcp: { description: "Tells of this boat alone." }';
    const entry = (at: number) => `  - { match: GET /boats/${at}, service: customers, scopes: [], ${tool} }\n`;
    const many = await check(published(Array.from({ length: 26 }, (_, at) => entry(at)).join('')));
    expect(many.output).toContain('there are 26 tools: past 25, assistants search them, and do not see all');
    expect(many.output).toMatch(/^26 tools for AI assistants/m);
    const none = await check(MINIMAL);
    expect(none.output).not.toContain('AI assistants');
  });

  it('does not warn about real comments, or about # inside quotes', async () => {
    const lines = 'api: # of the shop\n  title: "Shop #1" # one\ngateway:\n  host: 127.0.0.1 # 0.0.0.0 in production\n';
    const { code, output } = await check(MINIMAL + lines, true);
    expect([code, JSON.parse(output)]).toMatchObject([0, { warnings: [] }]);
  });
});
