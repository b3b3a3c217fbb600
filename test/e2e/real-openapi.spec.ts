/** OpenAPI documents of real services are published unchanged, with at most five lines of configuration each. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import type { Json } from '../support/program-config.js';
import { startTrailgate, runTrailgate, type RunningTrailgate } from '../support/program.js';
import { realDocument } from '../support/real-documents.js';

/** Scopes for a service whose document has no usable ones. */
const SCOPES = 'scopes: { read: [api:read], write: [api:write] }';
const MAX_LINES = 5;

interface Row {
  readonly document: string;
  /** Path that follows the origin of the target. */
  readonly prefix?: string;
  /** Lines of the service in `gateway.yaml`, without those of its targets and its document. */
  readonly lines: readonly string[];
  readonly operations: number;
  /** Expected substring of each warning of `trailgate check`. */
  readonly warnings: readonly string[];
}

const ROWS: readonly Row[] = [
  { document: 'github', lines: [SCOPES], operations: 1_223, warnings: [] },
  { document: 'stripe', lines: [SCOPES], operations: 452, warnings: ['452 operations name alternatives'] },
  {
    document: 'kubernetes',
    lines: [SCOPES, 'exclude: [{ path: /logs }]'],
    operations: 843,
    warnings: ['GET /api/v1/ is reached at'],
  },
  { document: 'digitalocean', lines: [SCOPES], operations: 290, warnings: ['`models/'] },
  { document: 'petstore', prefix: '/v2', lines: [SCOPES], operations: 20, warnings: [] },
  { document: 'springdoc', lines: ['scopes: []'], operations: 3, warnings: ['the path has `**`'] },
];

interface Described {
  readonly paths: Readonly<Record<string, Json>>;
}

const METHODS = ['get', 'put', 'post', 'patch', 'delete', 'head', 'options'];
const BUILT_IN = ['/usage', '/openapi.json'];
/** Number of concurrent requests. */
const AT_ONCE = 16;

describe.each(ROWS)('the OpenAPI document of $document', ({ document, prefix = '', lines, operations, warnings }) => {
  let backend: Backend;
  let trailgate: RunningTrailgate;

  beforeAll(async () => {
    backend = await startBackend(json({ ok: true }));
    const text = [`targets: ['${backend.url}${prefix}']`, `openapi: ${realDocument(document)}`, ...lines];
    const service = parse(text.join('\n')) as Json;
    const plans = { unlimited: {} };
    trailgate = await startTrailgate({
      config: { services: { backend: null, real: service }, operations: null, plans },
    });
  }, 60_000);
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it('passes `trailgate check` with at most five lines of configuration and only the expected warnings', async () => {
    // Two more lines configure the targets and the document.
    expect(lines.length + 2).toBeLessThanOrEqual(MAX_LINES);
    const { code, stdout } = await runTrailgate(['check', '--json', '--config', trailgate.configPath]);
    const checked = JSON.parse(stdout) as { operations: unknown[]; warnings: { message: string }[] };
    expect({ code, operations: checked.operations.length }).toEqual({ code: 0, operations });
    expect(checked.warnings.map(({ message }) => message)).toEqual(
      warnings.map((beginning) => expect.stringContaining(beginning)),
    );
  }, 60_000);

  it('is published with all operations, and each reaches the backend at its own path', async () => {
    const { key } = await trailgate.admin.newKey();
    const { paths } = (await send(`${trailgate.gatewayUrl}/api/v1/openapi.json`)).json<Described>();
    const calls = Object.entries(paths).flatMap(([template, item]) =>
      BUILT_IN.includes(template)
        ? []
        : METHODS.filter((method) => method in item).map((method) => ({
            method: method.toUpperCase(),
            path: template.replaceAll(/\{[^}]*\}/g, 'x1'),
          })),
    );
    expect(calls).toHaveLength(operations);
    const wrong: unknown[] = [];
    const queue = [...calls];
    const work = async (): Promise<void> => {
      for (let call = queue.pop(); call !== undefined; call = queue.pop()) {
        const headers = { authorization: `Bearer ${key.secret}` };
        const { status } = await send(`${trailgate.gatewayUrl}/api/v1${call.path}`, { method: call.method, headers });
        if (status !== 200) wrong.push({ ...call, status });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(wrong).toEqual([]);
    const sent = calls.map(({ method, path }) => `${method} ${prefix}${path}`);
    expect(backend.requests.map(({ method, url }) => `${method} ${url}`).toSorted()).toEqual(sent.toSorted());
  }, 60_000);
});
