/**
 * The official conformance suite against the MCP server, with both protocol versions, and against the authorization
 * server. `test/mcp-conformance/` defines the tools and prompts that the suite calls by name. A forwarder adds the API
 * key, which the suite cannot send. When the suite asks a person to authorize a client, the test does that. `npm run
 * mcp:conformance` installs and runs the suite.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { CONFORMANCE_METHODS } from '../mcp-conformance/profile.js';
import { describeUnless } from '../support/describe-with.js';
import { installNpmPackages, runForeign } from '../support/foreign-packages.js';
import { startKeyAdder, type KeyAdder } from '../support/key-adder.js';
import { startMcpWorld, type McpWorld } from '../support/mcp-world.js';
import { Browser } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { freePort, spawnOwned, temporaryFolder } from '../support/processes.js';

const FOLDER = 'test/mcp-conformance';
const PACKAGE = 'node_modules/@modelcontextprotocol/conformance';
const SUITE = `${PACKAGE}/dist/index.js`;
const OLDEST_NODE = 22;
const KEYS = 12;
/** Time limit of a scenario. Most take less than one second. */
const SCENARIO_TIMEOUT_MS = 30_000;

const isOld = Number(process.versions.node.split('.')[0]) < OLDEST_NODE;
const missing = isOld ? `needs Node ${OLDEST_NODE}` : installNpmPackages(FOLDER);

interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

/** Expected warnings. The server has no sessions and does not stream responses to lists. */
const WANTED = ['server-sse-multiple-streams server-sse-multiple-streams-session WARNING'];

/**
 * Returns the scenarios that a protocol revision requires of servers. The suite also runs others, such as extensions.
 */
function requiredBy(revision: string): readonly string[] {
  const text = readFileSync(join(FOLDER, PACKAGE, 'requirements', `${revision}.yaml`), 'utf8');
  return (parse(text) as { readonly server: readonly string[] }).server;
}

/** Returns the checks of each scenario that was run. */
function checksIn(folder: string, kind: 'server' | 'authorization-server'): Map<string, Check[]> {
  const scenarios = new Map<string, Check[]>();
  for (const name of readdirSync(folder)) {
    const scenario = name.slice(`${kind}-`.length).replace(/-\d{4}-\d{2}-\d{2}T.*$/, '');
    // A scenario that ended early has no such file.
    const file = join(folder, name, 'checks.json');
    scenarios.set(scenario, existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Check[]) : []);
  }
  return scenarios;
}

/** Returns the failed checks of a scenario, or one entry if no check succeeded. */
const faultsOf = (scenario: string, checks: readonly Check[] = []): readonly string[] =>
  checks.some(({ status }) => status === 'SUCCESS')
    ? checks
        .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
        .map(({ id, status, errorMessage = '' }) => `${scenario} ${id} ${status} ${errorMessage}`.trim())
    : checks.length > 0 && WANTED.includes(`${scenario} ${checks[0]!.id} ${checks[0]!.status}`)
      ? []
      : [`${scenario} has no successful check`];

describeUnless(missing)('the MCP server', () => {
  let world: McpWorld;
  let forwarder: KeyAdder;
  beforeAll(async () => {
    world = await startMcpWorld({ methods: CONFORMANCE_METHODS });
    const keys = await Promise.all(Array.from({ length: KEYS }, () => world.newKey('unlimited')));
    forwarder = await startKeyAdder(
      world.url,
      keys.map(({ secret }) => secret),
    );
  });
  afterAll(async () => {
    await forwarder?.stop();
    await world?.stop();
  });

  /** Runs the suite. @returns its exit code, its checks, and the end of its output if it failed. */
  async function run(...args: readonly string[]) {
    const results = temporaryFolder('conformance');
    const all = [SUITE, 'server', '--url', `${forwarder.url}/mcp`, '--timeout', String(SCENARIO_TIMEOUT_MS)];
    const { code, stdout, stderr } = await runForeign(FOLDER, process.execPath, [...all, '-o', results, ...args]);
    return { code, scenarios: checksIn(results, 'server'), said: code === 0 ? '' : `${stdout}${stderr}`.slice(-4_000) };
  }

  it.each([
    ['2026-07-28', 37],
    ['2025-11-25', 30],
  ])('passes all conformance scenarios that %s requires: %d', async (revision, count) => {
    const required = requiredBy(revision);
    expect(required).toHaveLength(count);
    const { code, scenarios, said } = await run('--requirements', revision);
    expect({ code, said }).toEqual({ code: 0, said: '' });
    expect(required.flatMap((scenario) => faultsOf(scenario, scenarios.get(scenario)))).toEqual([]);
  });

  it('passes the conformance scenario that compares headers with the body', async () => {
    const scenario = 'http-header-validation';
    const { code, scenarios, said } = await run('--spec-version', '2026-07-28', '--scenario', scenario);
    expect({ code, said }).toEqual({ code: 0, said: '' });
    expect(faultsOf(scenario, scenarios.get(scenario))).toEqual([]);
  });
});

/** Scenarios of the suite for authorization servers, in all revisions. */
const AUTHORIZATION_SCENARIOS = ['authorization-server-metadata-endpoint', 'authorization-code-grant'];

describeUnless(missing)('the authorization server', () => {
  let world: OAuthWorld;
  beforeAll(async () => {
    world = await OAuthWorld.start();
  });
  afterAll(() => world?.stop());

  /** Opens the URL that the suite prints, approves the client, and follows the redirect back to the suite. */
  async function authorize(url: URL, accountId: string): Promise<void> {
    const browser = new Browser();
    const id = await world.ask(browser, url);
    if (typeof id !== 'string') throw new Error(`the server did not ask for approval: ${id.status} ${await id.text()}`);
    const back = await browser.open(await world.approve(id, accountId));
    await fetch(back.headers.get('location') ?? '');
  }

  /** Runs the scenarios of one revision, as a registered public client. */
  async function run(revision: string) {
    const [port, accountId] = [await freePort(), await world.newAccount()];
    const { body } = await world.register({ redirect_uris: [`http://127.0.0.1:${port}/callback`] });
    const results = temporaryFolder('conformance');
    const client = ['--client-id', String(body['client_id']), '--port', String(port), '--resource', world.resource];
    const args = ['authorization', '--url', world.issuer, ...client, '--spec-version', revision, '-o', results];
    const suite = spawnOwned(process.execPath, [join(FOLDER, SUITE), ...args]);
    const said: string[] = [];
    for (const stream of [suite.child.stdout!, suite.child.stderr!]) {
      createInterface({ input: stream }).on('line', (line) => {
        said.push(line);
        if (!line.startsWith(`${world.issuer}/authorize?`)) return;
        // Ends the suite on an error. It would otherwise wait for minutes.
        authorize(new URL(line), accountId).catch((error: unknown) => {
          said.push(String(error));
          suite.child.kill();
        });
      });
    }
    const { code } = await suite.exited;
    const scenarios = checksIn(results, 'authorization-server');
    return { code, scenarios, said: code === 0 ? '' : said.join('\n').slice(-4_000) };
  }

  it('is tested with all authorization scenarios of the conformance suite', async () => {
    const { code, stdout } = await runForeign(FOLDER, process.execPath, [SUITE, 'list', '--authorization']);
    expect(code).toBe(0);
    expect([...stdout.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name)).toEqual(AUTHORIZATION_SCENARIOS);
  });

  it.each(['2026-07-28', '2025-11-25'])('passes all conformance scenarios of %s', async (revision) => {
    const { code, scenarios, said } = await run(revision);
    expect({ code, said }).toEqual({ code: 0, said: '' });
    expect([...scenarios.keys()].toSorted()).toEqual(AUTHORIZATION_SCENARIOS.toSorted());
    expect([...scenarios].flatMap(([scenario, checks]) => faultsOf(scenario, checks))).toEqual([]);
  });
});
