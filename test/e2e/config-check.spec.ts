/** The built process that checks a configuration: its results, and its limits on time and memory. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CHECK, childrenOf } from '../support/child-processes.js';
import { largeOpenapi } from '../support/large-openapi.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { writeConfig } from '../support/program-config.js';
import { formatProblems } from '../../src/config/check.js';
import { readEnvironment } from '../../src/config/model/environment.js';
import { fixedSettings } from '../../src/config/fixed-settings.js';
import { loadConfig } from '../../src/config/load.js';
import { withoutDocuments } from '../../src/config/running-config.js';
import type { LoadedConfig } from '../../src/config/model/loaded-config.js';
import { describeApis } from '../../src/reference/describe-api.js';
import type { CheckRequest } from '../../src/program/reload/check-messages.js';
import { ConfigCheck, type CheckBounds } from '../../src/program/reload/config-check.js';

const BOUNDS: CheckBounds = {
  file: resolve('dist/program/reload/check-process.js'),
  timeoutMs: 60_000,
  memoryMb: 512,
  keptMs: 0,
};
const ENVIRONMENT = readEnvironment({});
const TARGETS = ['http://127.0.0.1:9'];

async function load(path: string): Promise<LoadedConfig> {
  const result = await loadConfig(path, ENVIRONMENT, {});
  if ('problems' in result) throw new Error(result.problems.map(({ message }) => message).join());
  return result.config;
}

async function requestFor(path: string, describes = true): Promise<CheckRequest> {
  const running = await load(writeConfig(temporaryFolder('running'), { targets: TARGETS }));
  return { path, environment: ENVIRONMENT, fixed: fixedSettings(running.file), describes };
}

const folder = (): string => temporaryFolder('check');
const large = (operations = 1_000): string =>
  writeConfig(folder(), { targets: TARGETS, openapi: largeOpenapi(operations) });

const checks = (): number[] => childrenOf(process.pid, CHECK);

describe('a check in a separate process', () => {
  it('returns the same result as in this process, and describes the API under the running base path', async () => {
    const path = writeConfig(folder(), {
      targets: TARGETS,
      config: { api: { basePath: '/v9', title: 'Next', deprecation: '2030-01-01', sunset: '2032-01-01' } },
    });
    const result = await new ConfigCheck(BOUNDS).run(await requestFor(path));
    const loaded = await load(path);
    const { file } = withoutDocuments(loaded);
    expect(result).toMatchObject({ kind: 'valid', warnings: [] });
    if (result.kind === 'refused') return;
    expect(result.config).toStrictEqual({ ...withoutDocuments(loaded), file: { ...file, operations: [] } });
    const asItRuns = { ...loaded, file: { ...file, api: { ...file.api, basePath: '/api/v1' } } };
    expect(result.description).toStrictEqual(describeApis(asItRuns));
    expect(result.description?.[0]?.deprecated?.body.toString()).toContain('"deprecated":true');
    await eventually('the check process has ended', () => checks().length === 0);
  });

  it('keeps its process for the next check, unless the process holds much memory', async () => {
    const check = new ConfigCheck({ ...BOUNDS, keptMs: 60_000 });
    const request = await requestFor(writeConfig(folder(), { targets: TARGETS }));
    await check.run(request);
    const [pid] = checks();
    expect(await check.run(request)).toMatchObject({ kind: 'valid' });
    expect(checks()).toEqual([pid]);
    expect(await check.run({ ...request, path: large(2_000) })).toMatchObject({ kind: 'valid' });
    await eventually('the check process has ended', () => checks().length === 0);
    expect(await check.run(request)).toMatchObject({ kind: 'valid' });
    check.stop();
    await eventually('the check process has ended', () => checks().length === 0);
  });

  it('creates no API description if none is requested', async () => {
    const path = writeConfig(folder(), { targets: TARGETS });
    const result = await new ConfigCheck(BOUNDS).run(await requestFor(path, false));
    expect(result).toMatchObject({ kind: 'valid', description: undefined });
  });

  it('reports problems exactly as `trailgate check` does, with location, message and hint', async () => {
    const operations = Array.from({ length: 150 }, (_, index) => ({ match: `GET /x${index}`, scopes: [] }));
    const path = writeConfig(folder(), { targets: TARGETS, config: { operations, planz: {}, gateway: { port: -1 } } });
    const wrong = await loadConfig(path, ENVIRONMENT, {});
    const problems = 'problems' in wrong ? formatProblems(wrong.problems) : '';
    expect(problems).toMatch(/gateway\.yaml:\d+:\d+ +operations\[1\]\.match: .+\n +→ ./);
    const files = [join(dirname(path), 'backend.openapi.yaml')];
    expect(await new ConfigCheck(BOUNDS).run(await requestFor(path))).toEqual({ kind: 'refused', problems, files });
  });
});

describe('a check refuses the configuration and leaves no process', () => {
  const refusal = async (bounds: Partial<CheckBounds>, path: string): Promise<string> => {
    const result = await new ConfigCheck({ ...BOUNDS, ...bounds }).run(await requestFor(path));
    await eventually('the check process has ended', () => checks().length === 0);
    return result.kind === 'refused' ? result.problems : 'valid';
  };

  it('if it takes too long', async () => {
    expect(await refusal({ timeoutMs: 200 }, large())).toBe('It could not be checked: it took longer than 0.2 s');
  });

  it('if its process hangs', async () => {
    const refused = refusal({ timeoutMs: 3_000 }, large());
    await eventually('the check process runs', () => checks().length === 1);
    process.kill(checks()[0]!, 'SIGSTOP');
    expect(await refused).toBe('It could not be checked: it took longer than 3 s');
  });

  it('if it takes too much memory', async () => {
    expect(await refusal({ memoryMb: 24 }, large())).toBe('It could not be checked: it took more than 24 MB of memory');
  });

  it('if its process is killed', async () => {
    const refused = refusal({}, large());
    await eventually('the check process runs', () => checks().length === 1);
    process.kill(checks()[0]!, 'SIGKILL');
    expect(await refused).toMatch(/^It could not be checked: its process was killed \(SIGKILL\), perhaps because/);
  });

  it('if its process cannot start', async () => {
    expect(await refusal({ file: join(folder(), 'missing.js') }, large())).toMatch(
      /^It could not be checked: its process ended \(exit code 1\): Error: Cannot find module/,
    );
  });

  it('if its process fails', async () => {
    const directory = folder();
    mkdirSync(directory, { recursive: true });
    const file = join(directory, 'failing.mjs');
    writeFileSync(file, 'process.on("message", () => { throw new TypeError("our own fault"); });');
    expect(await refusal({ file }, large())).toBe(
      'It could not be checked: its process ended (exit code 1): TypeError: our own fault',
    );
  });

  it('if it is stopped', async () => {
    const check = new ConfigCheck(BOUNDS);
    const result = check.run(await requestFor(large()));
    await eventually('the check process runs', () => checks().length === 1);
    check.stop();
    expect((await result).kind).toBe('refused');
    await eventually('the check process has ended', () => checks().length === 0);
  });
});
