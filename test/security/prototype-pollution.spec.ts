/** Attack: an error body whose member names are properties of JavaScript prototypes. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectProblem } from '../support/problem.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;

beforeAll(async () => {
  gateway = await startProxied();
});
afterAll(() => gateway.stop());

it.each([
  '{"__proto__":{"detail":"polluted","status":200,"isAdmin":true}}',
  '{"error":{"__proto__":{"message":"polluted"}}}',
  '{"errors":{"__proto__":["polluted"],"constructor":{"prototype":["polluted"]},"toString":["polluted"]}}',
  '{"errors":[{"field":"__proto__","message":"polluted"},{"path":["constructor","prototype","polluted"],"message":"polluted"}]}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"hasOwnProperty":"polluted","valueOf":"polluted","message":"fine"}',
])('the error body %s does not affect the next response', async (body) => {
  gateway.answerWith((_request, response) => {
    response.writeHead(422, { 'content-type': 'application/json', __proto__x: '1' });
    response.end(body);
  });
  expectProblem(await gateway.send('/open'), 'validation_failed');

  gateway.answerWith((_request, response) => {
    response.writeHead(422, { 'content-type': 'application/json' });
    response.end('{}');
  });
  const next = expectProblem(await gateway.send('/open'), 'validation_failed');
  expect(Object.keys(next).toSorted()).toEqual(['code', 'request_id', 'status', 'title', 'type']);
});

it('a response header named __proto__ is forwarded like any other', async () => {
  gateway.answerWith((_request, response) => {
    response.writeHead(200, ['__proto__', 'a', 'constructor', 'b', '__proto__', 'c']);
    response.end('ok');
  });
  const answer = await gateway.send('/open');
  expect(answer.status).toBe(200);
  expect(answer.rawHeaders).toEqual(expect.arrayContaining(['__proto__', 'a', 'constructor', 'b', '__proto__', 'c']));
});
