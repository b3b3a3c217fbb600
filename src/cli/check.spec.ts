/** `trailgate check`: text for people, JSON for scripts, and the exit code. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI } from '../../test/support/config-files.js';
import { checkCommand } from './check.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trailgate-check-'));
  await writeFile(join(folder, 'customers.yaml'), OPENAPI);
});
afterEach(() => rm(folder, { recursive: true }));

async function check(text: string, json = false): Promise<{ code: number; output: string }> {
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, text);
  let output = '';
  const code = await checkCommand(file, { json, write: (part) => (output += part) });
  return { code, output };
}

describe('trailgate check', () => {
  it('shows what would be published, and exits with 0', async () => {
    const { code, output } = await check(MINIMAL);
    expect(code).toBe(0);
    expect(output).toContain('is valid. Integrators reach http://localhost:8080/api/v1');
    expect(output).toMatch(/^POST +\/api\/v1\/customers +customers +customers:write +5$/m);
    expect(output).toMatch(/^starter +60 +- +- +- +local +all$/m);
  });

  it('shows every problem with file, line, column, hint and the count, and exits with 1', async () => {
    const { code, output } = await check(MINIMAL.replace('targets', 'target').replace('minute', 'minutes'));
    expect(code).toBe(1);
    expect(output).toMatch(
      /gateway\.yaml:4:5 +services\.customers\.target: unknown key `target`\n +→ did you mean `targets`\?/,
    );
    expect(output).toMatch(/\n\n3 problems\n$/);
  });

  it('warns of what can be run and is hardly meant, and exits with 0', async () => {
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

  it('gives both as JSON for scripts', async () => {
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
});
