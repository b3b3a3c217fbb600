/** Results of tool calls: content of several types, and errors that explain refusals. */
import { describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { json } from '../support/backend.js';
import { GET_CUSTOMER, TOOLS } from '../support/mcp-world.js';
import { callTool, refusalOf, sceneOfTests } from '../support/tool-results.js';

const scene = sceneOfTests();

const call = (name: string, args: object = {}, of = scene.secret) => callTool(scene.world, of, name, args);
const refusal = (name: string, args: object = {}, of = scene.secret) => refusalOf(scene.world, of, name, args);

const says = (status: number, body: string | Buffer, type = 'application/json', more: Record<string, string> = {}) =>
  scene.world.answerWith((_request, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type, ...more }).end(body);
  });

describe('a tool call', () => {
  it('sends the request of its operation, and returns the response body as text', async () => {
    scene.world.answerWith(json({ data: [1, 'ü'] }));
    const result = await call('list_customers', { limit: 2, cursor: 'a b' });
    expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: '{"data":[1,"ü"]}' }] });
    expect(result).not.toHaveProperty('isError');
    expect(result).not.toHaveProperty('structuredContent');
    const [received] = scene.world.backend.requests;
    expect(received).toMatchObject({ method: 'GET', url: '/customers?limit=2&cursor=a%20b' });
    expect(received?.headers).toMatchObject({ accept: 'application/json', 'x-api-scopes': '*' });
    expect(received?.headers['accept-encoding']).toBeUndefined();
  });

  it('sends arguments in a JSON body', async () => {
    says(201, '{"id":"cus_1"}');
    await call('create_customer', { name: 'Ünal "X"' });
    const [received] = scene.world.backend.requests;
    expect([received?.method, received?.body.toString()]).toEqual(['POST', '{"name":"Ünal \\"X\\""}']);
    expect(received?.headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '22' });
  });

  it('escapes an argument in the path, and sends no request for a path traversal', async () => {
    scene.world.answerWith(json({}));
    await call('get_customer', { id: 'a/../b?c#d' });
    expect(scene.world.backend.requests.map(({ url }) => url)).toEqual([]);
    await call('get_customer', { id: 'a b?c#d' });
    expect(scene.world.backend.requests.map(({ url }) => url)).toEqual(['/customers/a%20b%3Fc%23d']);
  });

  it('returns formatted JSON without its white space', async () => {
    says(200, JSON.stringify({ a: [1, { b: 'x, "y": z' }] }, null, 2));
    expect((await call('list_customers')).content).toEqual([{ type: 'text', text: '{"a":[1,{"b":"x, \\"y\\": z"}]}' }]);
  });

  it('returns the status and the Location of a response without a body', async () => {
    says(204, '');
    expect((await call('delete_customer', { id: 'x' })).content[0]?.text).toBe('{"status":204}');
    says(201, '', 'text/plain', { location: '/customers/cus_9' });
    expect((await call('create_customer', { name: 'x' })).content[0]?.text).toBe(
      '{"status":201,"location":"/customers/cus_9"}',
    );
  });

  it('returns text and images, and an error that names any other content type', async () => {
    says(200, 'a,b\n1,2', 'text/csv; charset=utf-8');
    expect((await call('list_customers')).content).toEqual([{ type: 'text', text: 'a,b\n1,2' }]);
    says(200, Buffer.from([1, 2, 3]), 'image/png');
    expect((await call('list_customers')).content).toEqual([{ type: 'image', data: 'AQID', mimeType: 'image/png' }]);
    says(200, Buffer.from([1, 2, 3]), 'application/pdf');
    expect(await call('list_customers')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('application/pdf of 3 bytes') }],
    });
  });

  it('returns an error with the status and the location of a redirect', async () => {
    says(302, '', 'text/plain', { location: 'https://elsewhere.example/' });
    expect(await call('list_customers')).toMatchObject({
      isError: true,
      content: [
        {
          text: expect.stringMatching(
            /^\{"status":302,"location":"https:\/\/elsewhere.example\/","detail":".*Tell the person/,
          ),
        },
      ],
    });
  });

  it('returns structured content if the tool has an output schema, and an error if it is not JSON', async () => {
    const response = { type: 'object', properties: { id: { type: 'string' } } };
    await scene.world.useTools([{ ...GET_CUSTOMER, response }]);
    says(200, '{"id":"cus_1","inner":true}');
    expect(await call('get_customer', { id: 'cus_1' })).toMatchObject({
      content: [{ type: 'text', text: '{"id":"cus_1","inner":true}' }],
      structuredContent: { id: 'cus_1' },
    });
    says(200, 'not JSON');
    expect((await call('get_customer', { id: 'cus_1' })).isError).toBe(true);
    await scene.world.useTools(TOOLS);
  });

  it('cuts a response over 65,536 bytes at a character, and names the arguments that ask for less', async () => {
    says(200, `{"data":"${'ü'.repeat(50_000)}"}`);
    const { content, isError } = await call('list_customers');
    expect([isError, content.length]).toEqual([true, 2]);
    expect(content[0]?.text).toMatch(/^\{"data":"ü+$/);
    expect(content[1]?.text).toBe(
      'The response is larger than 65536 bytes, and was cut there. ' +
        'Ask for less at once, or for the next part, with: limit, cursor.',
    );
    expect((await call('get_customer', { id: 'x' })).content[1]?.text).toContain('no arguments that ask for less');
  });
});

describe('a refused tool call reports', () => {
  it('the missing scope and who can grant it', async () => {
    const { secret: reader } = await scene.world.newKey('unlimited', ['customers:read']);
    scene.world.backend.requests.length = 0;
    expect(await refusal('create_customer', { name: 'x' }, reader)).toEqual({
      error: 'insufficient_scope',
      status: 403,
      detail: 'This API key lacks the scope customers:write.',
      missing_scopes: ['customers:write'],
      what_to_do: expect.stringContaining('An administrator of the API keys'),
      request_id: expect.stringMatching(/^req_/),
    });
    expect(scene.world.backend.requests).toEqual([]);
  });

  it('the exceeded limit and the time to wait', async () => {
    scene.world.answerWith(json({}));
    const { secret: few } = await scene.world.newKey('few');
    for (let at = 0; at < 2; at++) expect((await call('list_customers', {}, few)).isError).toBeUndefined();
    const words = await refusal('list_customers', {}, few);
    expect(words).toMatchObject({ error: 'rate_limited', status: 429, used_up: ['key-minute'] });
    expect(words['retry_after']).toBeGreaterThan(0);
    expect(scene.world.backend.requests).toHaveLength(2);
  });

  it('the errors of the backend, field by field', async () => {
    says(422, '{"errors":[{"field":"name","message":"is too short"}]}');
    expect(await refusal('create_customer', { name: '' })).toMatchObject({
      error: 'validation_failed',
      status: 422,
      errors: [{ detail: 'is too short', pointer: '#/name' }],
    });
    says(404, '{"message":"gone"}');
    expect(await refusal('get_customer', { id: 'x' })).toMatchObject({ error: 'resource_not_found', status: 404 });
  });

  it('a failure of the backend, and that the call is not the cause', async () => {
    scene.world.answerWith((_request, response) => void response.destroy());
    expect(await refusal('create_customer', { name: 'x' })).toMatchObject({
      error: 'backend_bad_response',
      status: 502,
      what_to_do: expect.stringContaining('not the call'),
    });
  });

  it('invalid arguments, without a backend request and without counting the call', async () => {
    const { secret: few } = await scene.world.newKey('few');
    scene.world.answerWith(json({}));
    for (let at = 0; at < 3; at++) {
      expect(await refusal('get_customer', { nr: 1 }, few)).toEqual({
        error: 'validation_failed',
        detail: 'Some arguments are invalid. Nothing was sent, and nothing was counted.',
        errors: [
          { field: 'id', detail: 'is required' },
          { field: 'nr', detail: 'is no argument of this tool' },
        ],
        what_to_do: expect.any(String),
        request_id: expect.any(String),
      });
    }
    expect(scene.world.backend.requests).toEqual([]);
    expect((await call('list_customers', {}, few)).isError).toBeUndefined();
  });

  it('an unknown tool as a protocol error', async () => {
    for (const params of [{ name: 'drop_customers' }, { name: '__proto__' }, { name: 'constructor' }]) {
      const answer = await scene.world.modern(scene.secret, 'tools/call', params);
      expect([answer.status, answer.json<{ error: { code: number } }>().error.code]).toEqual([200, -32602]);
    }
  });
});
