/** Paths that the gateway cannot route are left out, and what stands beside them does not take their requests. */
import { describe, expect, it } from '@jest/globals';
import { configOf, MINIMAL, problemsOf, warningsOf } from '../../../test/support/config-files.js';

const HEAD = "openapi: 3.1.0\ninfo: { title: T, version: 1.10 }\nsecurity: [{ key: ['a:b'] }]\npaths:\n";
/** Files with these operations in the document, such as `POST /a`. */
function files(operations: readonly string[], gateway = MINIMAL): Record<string, string> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [method = '', path = ''] of operations.map((match) => match.split(' '))) {
    (paths[path] ??= {})[method.toLowerCase()] = { responses: { 200: { description: 'ok' } } };
  }
  const lines = Object.entries(paths).map(([path, item]) => `  "${path}": ${JSON.stringify(item)}\n`);
  return { 'gateway.yaml': gateway, 'customers.yaml': HEAD + lines.join('') };
}

describe('a path with a parameter in a part of a segment', () => {
  it.each(['POST /a/{id}:archive', 'GET /a/{name}.{ext}', 'GET /a/{base}...{head}', 'GET /v{major}/a'])(
    '%s is left out with a warning, and the rest is published',
    async (match) => {
      const given = files(['GET /b', match]);
      const { operations } = await configOf(given);
      expect(operations.map(({ template }) => template)).toEqual(['/b']);
      const [warning, ...others] = await warningsOf(given);
      expect(warning).toMatchObject({
        line: 6,
        message: expect.stringMatching(/whole segment, so its .* are left out$/),
      });
      expect(others).toEqual([]);
    },
  );

  it.each([
    ['POST /a/{id}:archive', 'POST /a/{id}'],
    ['GET /a/{name}.{ext}', 'GET /a/{name}'],
    ['HEAD /a/{name}.{ext}', 'GET /a/{name}'],
    ['GET /a/{name}.{ext}', 'GET /a/readme.md'],
    ['GET /a/{x}/{y}:z', 'GET /{p}/b/{q}'],
  ])('%s is refused beside %s, which would take its requests', async (match, taker) => {
    const [problem, ...others] = await problemsOf(files([taker, match]));
    expect(problem?.message).toContain(`whole segment, and ${taker} would take its requests`);
    expect(others).toEqual([]);
  });

  it('is refused beside an entry of `operations` that would take its requests', async () => {
    const entry = 'operations: [{ match: "POST /a/{id}", service: customers, scopes: [] }]\n';
    const [problem] = await problemsOf(files(['POST /a/{id}:archive'], MINIMAL + entry));
    expect(problem?.message).toContain('POST /a/{id} would take its requests');
  });

  it.each([
    ['POST /a/{id}:archive', 'GET /a/{id}'],
    ['POST /a/{id}:archive', 'POST /a/{id}/b'],
    ['POST /a/{id}:archive', 'POST /a/export'],
  ])('%s does not meet %s', async (match, other) => {
    expect((await configOf(files([other, match]))).operations).toHaveLength(1);
  });

  it.each(['GET /a/{}', 'GET /a/{id', 'GET /a/{id}}', 'GET /a/{id}*'])('%s is a mistake', async (match) => {
    expect(await problemsOf(files([match]))).toHaveLength(1);
  });
});
