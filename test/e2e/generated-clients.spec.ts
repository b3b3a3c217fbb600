/**
 * Clients that are generated from our documents compile as strictly as their language knows, and work on the running gateway and admin API:
 * test/generated-clients has a program for each generator, written as an integrator writes it. `npm run clients:generated` runs it alone.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeUnless } from '../support/describe-with.js';
import { installNpmPackages, installPythonPackages, runForeign } from '../support/foreign-packages.js';
import { startReferenceDeployment, type ReferenceDeployment } from '../support/reference-deployment.js';

const FOLDER = 'test/generated-clients';
const BIN = 'node_modules/.bin';
const APIS = ['public', 'admin'];

/** What each program does of the API: the same, in the words of its language. */
const DONE = {
  customers: {
    created: 'lead',
    conflict: 'conflict',
    reason: 'email_taken',
    listed: 1,
    updated: 'active',
    deleted: 204,
    missing: 'resource_not_found',
    advice: 'use another',
    plan: 'unlimited',
  },
  admin: { zone: 'UTC', environment: 'live', keys: 1, wrong: '#/name' },
};

let deployment: ReferenceDeployment;

beforeAll(async () => {
  rmSync(join(FOLDER, 'generated'), { recursive: true, force: true });
  mkdirSync(join(FOLDER, 'generated/generated_python'), { recursive: true });
  deployment = await startReferenceDeployment();
  const documents = await deployment.documents();
  writeFileSync(join(FOLDER, 'generated/public.json'), documents.public);
  writeFileSync(join(FOLDER, 'generated/admin.json'), documents.admin);
});
afterAll(() => deployment.stop());

/** Runs a command in the folder, which must succeed. @returns what it wrote to stdout. */
async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runForeign(FOLDER, command, args, env);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/** What a program prints at its end. */
async function done(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const { gateway, apiUrl, secret } = deployment;
  const urls = { API_URL: apiUrl, API_KEY: secret, ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: gateway.adminToken };
  return JSON.parse(await run(command, args, { ...urls, ...env }));
}

describeUnless(installNpmPackages(FOLDER))('a client in TypeScript', () => {
  beforeAll(async () => {
    for (const api of APIS) {
      await run(`${BIN}/openapi-typescript`, [
        `generated/${api}.json`,
        '--output',
        `generated/openapi-fetch/${api}.ts`,
      ]);
      await run(`${BIN}/openapi-ts`, ['--input', `./generated/${api}.json`, '--output', `generated/hey-api/${api}`]);
    }
    await run(`${BIN}/tsc`, ['--project', '.']);
  });

  it.each(['openapi-fetch', 'hey-api'])('made by %s does what it says', async (name) => {
    expect(await done(process.execPath, [`generated/js/${name}/main.js`])).toEqual(DONE);
  });
});

describeUnless(installPythonPackages(FOLDER))('a client in Python', () => {
  const env = { PYTHONPATH: 'generated', MYPYPATH: 'generated' };

  beforeAll(async () => {
    for (const api of APIS) {
      const output = [
        '--output-path',
        `generated/generated_python/${api}`,
        '--meta',
        'none',
        '--config',
        'python/config.yaml',
      ];
      const args = ['generate', '--path', `generated/${api}.json`, ...output, '--fail-on-warning'];
      await run('.venv/bin/openapi-python-client', args);
    }
    await run('.venv/bin/mypy', ['--strict', '--explicit-package-bases', 'python/main.py'], env);
  });

  it('made by openapi-python-client does what it says', async () => {
    expect(await done('.venv/bin/python', ['python/main.py'], env)).toEqual(DONE);
  });
});
