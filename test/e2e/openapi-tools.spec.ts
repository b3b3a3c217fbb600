/**
 * Published OpenAPI documents pass the usual linters and match the running gateway. Disabled rules are listed with
 * their reason in test/openapi-tools: `spectral.yaml`, `redocly.yaml` and `schemathesis_hooks.py`.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeUnless } from '../support/describe-with.js';
import { installNpmPackages, installPythonPackages, runForeign } from '../support/foreign-packages.js';
import { startReferenceDeployment, type ReferenceDeployment } from '../support/reference-deployment.js';

const FOLDER = 'test/openapi-tools';
const DOCUMENTS = ['public.json', 'admin.json', 'customers.openapi.yaml'];
/** Seed of the generated requests. By default, every run generates the same ones. */
const SEED = process.env['TRAILGATE_TEST_SEED'] ?? '1';
/** Time limit of schemathesis for a phase, in seconds. */
const MAX_SECONDS = '30';

let deployment: ReferenceDeployment;

beforeAll(async () => {
  deployment = await startReferenceDeployment();
  const { public: published, admin } = await deployment.documents();
  mkdirSync(join(FOLDER, 'documents'), { recursive: true });
  writeFileSync(join(FOLDER, 'documents/public.json'), published);
  writeFileSync(join(FOLDER, 'documents/admin.json'), admin);
  copyFileSync('customers.openapi.yaml', join(FOLDER, 'documents/customers.openapi.yaml'));
});
afterAll(() => deployment.stop());

/** Runs a tool in its folder. @returns its exit code and its output. */
async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; output: string }> {
  const { code, stdout, stderr } = await runForeign(FOLDER, command, args, env);
  return { code, output: `${stdout}\n${stderr}` };
}

describeUnless(installNpmPackages(FOLDER))('linters', () => {
  it.each(DOCUMENTS)('Spectral finds no problem in %s with the OpenAPI and OWASP rulesets', async (name) => {
    const args = ['lint', '--ruleset', 'spectral.yaml', '--fail-severity', 'hint', `documents/${name}`];
    expect(await run('node_modules/.bin/spectral', args)).toMatchObject({
      code: 0,
      output: expect.stringContaining('No results') as unknown,
    });
  });

  it.each(DOCUMENTS)('Redocly finds no problem in %s with its strict ruleset', async (name) => {
    const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const target = name === 'admin.json' ? 'admin' : `documents/${name}`;
    const { code, output } = await run('node_modules/.bin/redocly', ['lint', '--config', 'redocly.yaml', target], env);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('is valid') as unknown });
    expect(output).not.toMatch(/\bwarnings?\b|\bignored\b/i);
  });
});

describeUnless(installPythonPackages(FOLDER))('schemathesis', () => {
  const check = async (document: string, url: string, token: string, more: readonly string[]) => {
    const args = ['run', `documents/${document}`, '--url', url, '--header', `Authorization: Bearer ${token}`];
    args.push('--seed', SEED, '--max-time', MAX_SECONDS, '--generation-database', 'none', '--no-color', ...more);
    const env = { SCHEMATHESIS_HOOKS: 'schemathesis_hooks.py', TRAILGATE_API_KEY_ID: deployment.keyId };
    return run('.venv/bin/schemathesis', args, env);
  };

  /** Fails with the findings of the tool, or if it made fewer than 100 checks. */
  const expectAllPassed = ({ code, output }: { code: number | null; output: string }): void => {
    expect({ code, found: code === 0 ? '' : output.slice(output.indexOf('= FAILURES =')) }).toEqual({
      code: 0,
      found: '',
    });
    expect(output).toMatch(/ \d{3,} passed/);
  };

  it('finds no response of the gateway and its backend that the OpenAPI document lacks', async () => {
    const result = await check('public.json', deployment.apiUrl, deployment.secret, ['--max-examples', '20']);
    expectAllPassed(result);
  });

  it('finds no response of the admin API that the OpenAPI document lacks', async () => {
    const { adminUrl, adminToken } = deployment.gateway;
    // Skips checks without the token. After ten such calls in a minute, the admin API answers 429 instead of 401.
    // admin-access.spec.ts covers every route.
    const more = ['--max-examples', '10', '--exclude-checks', 'ignored_auth,missing_required_header'];
    const result = await check('admin.json', adminUrl, adminToken, more);
    expectAllPassed(result);
  });
});
