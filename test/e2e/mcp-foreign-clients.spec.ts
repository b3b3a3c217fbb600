/**
 * Foreign MCP clients on the running program: the command line of the official inspector, and the official Python
 * client. They list, page and call tools, and get readable errors. `mcp-clients.spec.ts` has the TypeScript clients.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeUnless } from '../support/describe-with.js';
import { installNpmPackages, installPythonPackages, runForeign } from '../support/foreign-packages.js';
import { temporaryFolder } from '../support/processes.js';
import { mergePatch, testOpenapi, type Json } from '../support/program-config.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const FOLDER = 'test/mcp-clients';
const OLDEST_NODE = [22, 19] as const;
/** Exit code of the inspector after a failed tool call. */
const TOOL_ERROR = 5;
const AUTH_REQUIRED = 3;
const LIMIT = 2;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);

const named = (what: string) => ({
  'x-mcp': { response: 'text' },
  description: `${what} of this account, and no more.`,
});
const report = (at: number) => ({
  get: {
    operationId: `readReport${at}`,
    description: `Reads report number ${at} of this account.`,
    'x-mcp': true,
    security: [{ apiKey: ['customers:read'] }],
    responses: { 200: { description: 'As the backend says.' } },
  },
});
const OPENAPI = mergePatch(testOpenapi, {
  paths: {
    '/customers': { get: named('Lists customers'), post: named('Creates a customer') },
    '/customers/{id}': { get: named('Reads a customer'), delete: named('Deletes a customer') },
    ...Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`/reports_${at}`, report(at)])),
  },
}) as Json;

let backend: Backend;
let trailgate: SharedTrailgate;
beforeAll(async () => {
  backend = await startBackend(json({ data: [{ id: 'cus_1' }] }));
  const config = { plans: { few: { key: { minute: LIMIT }, onRedisLoss: 'closed' } }, mcp: { mostListed: 100 } };
  trailgate = await acquireTrailgate({ backend: backend.url, openapi: OPENAPI, config });
});
afterAll(async () => {
  await trailgate?.stop();
  await backend?.stop();
});

/** Creates a key that can read customers, with a limit of two requests per minute. */
const newSecret = async (): Promise<string> =>
  (await trailgate.admin.newKey('few', { scopes: ['customers:read'] })).key.secret;

const READ_TOOLS = [
  'get_usage',
  'list_customers',
  'get_customer',
  ...Array.from({ length: 60 }, (_, at) => `read_report${at}`),
];

describeUnless(isOld ? `needs Node ${OLDEST_NODE.join('.')}` : installNpmPackages(FOLDER))('the inspector', () => {
  const env = { HOME: temporaryFolder('inspector') };
  const BIN = 'clients/launcher/build/index.js';
  const inspectAt = async (at: SharedTrailgate, secret: string, ...args: readonly string[]) => {
    const target = ['--cli', `${at.gatewayUrl}/mcp`, '--transport', 'http'];
    const header = ['--header', `Authorization: Bearer ${secret}`];
    const all = ['node_modules/@modelcontextprotocol/inspector/' + BIN, ...target, ...header, ...args];
    return runForeign(FOLDER, process.execPath, all, env);
  };

  const inspect = (secret: string, ...args: readonly string[]) => inspectAt(trailgate, secret, ...args);

  it('lists the tools its key can call, and calls one', async () => {
    const secret = await newSecret();
    const listed = await inspect(secret, '--method', 'tools/list', '--strict');
    expect([listed.code, listed.stderr]).toEqual([0, expect.any(String)]);
    const { tools } = JSON.parse(listed.stdout) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(READ_TOOLS);
    const called = await inspect(
      secret,
      '--method',
      'tools/call',
      '--tool-name',
      'get_customer',
      '--tool-arg',
      'id=cus_1',
    );
    expect(called.code).toBe(0);
    expect(JSON.parse(called.stdout)).toMatchObject({ content: [{ text: '{"data":[{"id":"cus_1"}]}' }] });
    expect(backend.requests.at(-1)?.url).toBe('/customers/cus_1');
  });

  it('reads resources and prompts', async () => {
    const secret = await newSecret();
    const resources = await inspect(secret, '--method', 'resources/list');
    const [{ uri } = { uri: '' }] = (JSON.parse(resources.stdout) as { resources: { uri: string }[] }).resources;
    const read = await inspect(secret, '--method', 'resources/read', '--uri', uri);
    expect([read.code, read.stdout]).toEqual([0, expect.stringContaining('openapi')]);
    const prompt = ['--prompt-name', 'explain_refusal', '--prompt-args', 'refusal=rate_limited'];
    const got = await inspect(secret, '--method', 'prompts/get', ...prompt);
    expect([got.code, got.stdout]).toEqual([0, expect.stringContaining('rate_limited')]);
  });

  it('gets an error for an exceeded limit, and does not call unlisted tools', async () => {
    const secret = await newSecret();
    const call = (name: string) =>
      inspect(secret, '--method', 'tools/call', '--tool-name', name, '--tool-arg', 'id=cus_1');
    // The inspector only calls tools that it has listed.
    const unlisted = await call('delete_customer');
    expect([unlisted.code, unlisted.stderr]).toEqual([TOOL_ERROR, expect.stringContaining('tool_not_found')]);
    // None of these calls was counted.
    for (let at = 0; at < LIMIT; at++) expect((await call('get_customer')).code).toBe(0);
    const limited = await call('get_customer');
    expect([limited.code, limited.stdout + limited.stderr]).toEqual([
      TOOL_ERROR,
      expect.stringContaining('retry_after'),
    ]);
  });

  it('gets the missing scope from call_operation when it calls an unlisted operation', async () => {
    const searched = await acquireTrailgate({ backend: backend.url, openapi: OPENAPI });
    try {
      const { key } = await searched.admin.newKey('unlimited', { scopes: ['customers:read'] });
      const named = ['--tool-name', 'call_operation', '--tool-arg', 'name=delete_customer', 'arguments={"id":"cus_1"}'];
      const refused = await inspectAt(searched, key.secret, '--method', 'tools/call', ...named);
      expect([refused.code, refused.stdout + refused.stderr]).toEqual([
        TOOL_ERROR,
        expect.stringContaining('customers:write'),
      ]);
    } finally {
      await searched.stop();
    }
  });

  it('cannot authenticate with an unknown key', async () => {
    const { code, stderr } = await inspect('tg_live_nonsense', '--method', 'tools/list');
    expect([code, stderr]).toEqual([AUTH_REQUIRED, expect.stringContaining('auth_required')]);
  });
});

describeUnless(installPythonPackages(FOLDER))('the Python client', () => {
  interface Said {
    readonly version: string;
    readonly names: readonly string[];
    readonly pages: number;
    readonly calls: readonly { readonly is_error: boolean; readonly text: string }[];
  }

  it.each([
    ['auto', '2026-07-28'],
    ['legacy', '2025-11-25'],
  ])('in %s mode lists, pages and calls tools, and gets errors for a scope and a limit', async (mode, version) => {
    const calls = [
      ['delete_customer', { id: 'cus_1' }],
      ['list_customers', {}],
      ['get_customer', { id: 'cus_1' }],
      ['list_customers', {}],
      ['get_usage', {}],
    ];
    const env = { API_KEY: await newSecret(), CALLS: JSON.stringify(calls) };
    const args = ['client.py', `${trailgate.gatewayUrl}/mcp`, mode];
    const { code, stdout, stderr } = await runForeign(FOLDER, '.venv/bin/python', args, env);
    expect([code, code === 0 ? '' : stderr.slice(-2_000)]).toEqual([0, '']);
    const said = JSON.parse(stdout) as Said;
    expect([said.version, said.names, said.pages]).toEqual([version, READ_TOOLS, 2]);
    const [refused, listed, got, limited, usage] = said.calls;
    expect([refused?.is_error, JSON.parse(refused!.text)]).toMatchObject([
      true,
      { missing_scopes: ['customers:write'] },
    ]);
    expect([listed, got]).toEqual(Array(2).fill({ is_error: false, text: '{"data":[{"id":"cus_1"}]}' }));
    expect([limited?.is_error, JSON.parse(limited!.text)]).toMatchObject([
      true,
      { error: 'rate_limited', used_up: ['key-minute'], retry_after: expect.any(Number) },
    ]);
    expect([usage?.is_error, JSON.parse(usage!.text)]).toMatchObject([false, { windows: [{ used: LIMIT }] }]);
  });
});
