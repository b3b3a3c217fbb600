/**
 * The output of `trailgate server-json` matches the published schema of the MCP registry and its additional rules. Both
 * come from the package in test/mcp-registry, which contains the released schemas byte for byte. The tests need no
 * network.
 */
import { expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describeUnless } from '../support/describe-with.js';
import { installPythonPackages, runForeign } from '../support/foreign-packages.js';
import { temporaryFolder } from '../support/processes.js';
import { mergePatch, testOpenapi, writeConfig, type Json } from '../support/program-config.js';
import { runTrailgate } from '../support/program.js';

const FOLDER = 'test/mcp-registry';
const SCHEMAS = `${FOLDER}/.venv/lib/python3.*/site-packages/skillsaw/schemas/mcp_registry/v*/server.schema.json`;
const DESCRIPTION = 'Lists customers, newest first, page by page.';
const OPENAPI = mergePatch(testOpenapi, {
  paths: { '/customers': { get: { 'x-mcp': true, description: DESCRIPTION } } },
}) as Json;

describeUnless(installPythonPackages(FOLDER))('the output of trailgate server-json', () => {
  /** Returns the path of the newest released schema. */
  const schemaFile = (): string => globSync(SCHEMAS).toSorted().at(-1) ?? '';
  const schema = (): Json => JSON.parse(readFileSync(schemaFile(), 'utf8')) as Json;

  /** Returns the locations of schema violations in a document. */
  function faultsOf(document: unknown): readonly string[] {
    const ajv = new Ajv({ strict: false, allErrors: true });
    formats.default(ajv);
    const isValid = ajv.compile(schema());
    return isValid(document) ? [] : (isValid.errors ?? []).map(({ instancePath }) => instancePath);
  }

  /** Runs the linter, which knows rules beyond the schema. Returns its exit code and output. */
  async function lint(document: unknown): Promise<{ readonly code: number | null; readonly said: string }> {
    const folder = temporaryFolder('registry');
    writeFileSync(join(folder, 'server.json'), JSON.stringify(document));
    const rules = ['--type', 'mcp-registry', '--strict', '--no-plugins', '--no-custom-rules'];
    const { code, stdout, stderr } = await runForeign(FOLDER, '.venv/bin/skillsaw', ['lint', ...rules, folder]);
    return { code, said: `${stdout}${stderr}` };
  }

  async function printed(api: Json, ...args: readonly string[]): Promise<Json> {
    const config = { api };
    const path = writeConfig(temporaryFolder('registry'), {
      targets: ['http://127.0.0.1:9'],
      openapi: OPENAPI,
      config,
    });
    const { code, stdout, stderr } = await runTrailgate(['server-json', '--config', path, ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Json;
  }

  it.each([
    ['an API', { title: 'Customers API' }, []],
    ['one with a long name in another script', { title: 'Reiseführer für Österreich – 客户 '.repeat(5) }, []],
    [
      'one whose people say the rest',
      { title: 'Boats' },
      ['--name', 'com.example/boats', '--server-version', '2.1.0-beta.1', '--description', 'x'.repeat(300)],
    ],
  ])('for %s matches the newest schema and the rules of the MCP registry', async (_name, api, args) => {
    const document = await printed({ publicUrl: 'https://api.example.com', ...api }, ...args);
    expect(document['$schema']).toBe(schema()['$id']);
    expect(basename(dirname(schemaFile()))).toBe('v2025_12_11');
    expect(faultsOf(document)).toEqual([]);
    expect(await lint(document)).toMatchObject({ code: 0, said: expect.stringContaining('mcp-registry') as unknown });
  });

  it('with an invalid field is refused by the schema or by the linter', async () => {
    const document = await printed({ publicUrl: 'https://api.example.com', title: 'Customers API' });
    const faulty = [
      ['/name', { name: 'customers' }],
      ['/description', { description: 'x'.repeat(101) }],
      ['/remotes/0/type', { remotes: [{ type: 'http', url: 'https://api.example.com/mcp' }] }],
      ['/remotes/0', { remotes: [{ type: 'streamable-http' }] }],
    ] as const;
    for (const [place, change] of faulty) expect(faultsOf({ ...document, ...change })).toContain(place);
    const range = await lint({ ...document, version: '^1.0' });
    expect(range).toMatchObject({ code: 1, said: expect.stringContaining("'version'") as unknown });
  });
});
