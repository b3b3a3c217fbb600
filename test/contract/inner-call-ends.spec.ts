/** An inner request (an MCP tool call) ends like one over HTTP: in counters, usage, logs and idempotency. */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { CachedKey } from '../../src/keys/cached-key.js';
import { openRequest, send } from '../support/http.js';
import { fileRequest, filesOfTests } from '../support/inner-files.js';
import type { InnerRequest, InnerResult } from '../support/inner-world.js';
import { eventually } from '../support/processes.js';

const files = filesOfTests();
afterEach(() => void jest.restoreAllMocks());

describe('an Idempotency-Key of an inner request', () => {
  const keyed = (name: string, key: string): InnerRequest => ({
    match: 'POST /files/{name}',
    url: `/api/v1/files/${name}`,
    body: '{"a":1}',
    lines: `content-type: application/json\r\nidempotency-key: ${key}\r\n`,
  });

  it('sends one request to the backend and replays its response without cost', async () => {
    const { secret: few } = await files.world.newKey('few');
    const before = files.backend.requests.length;
    const results: InnerResult[] = [];
    for (let at = 0; at < 5; at++) results.push(await files.world.inner(few, keyed('echo', 'once')));
    expect(results.map(({ status, body }) => [status, body])).toEqual(
      Array.from({ length: 5 }, () => [200, '{"a":1}']),
    );
    expect(files.backend.requests.length - before).toBe(1);
    expect(results.map(({ lines }) => lines.includes('Idempotent-Replayed: true'))).toEqual([
      false,
      true,
      true,
      true,
      true,
    ]);
  });

  it('is shared with requests over HTTP', async () => {
    const before = files.backend.requests.length;
    await files.world.inner(files.secret, keyed('echo', 'both-ways'));
    const headers = {
      authorization: `Bearer ${files.secret}`,
      'content-type': 'application/json',
      'idempotency-key': 'both-ways',
    };
    const asked = await send(`${files.world.url}/api/v1/files/echo`, { method: 'POST', headers, body: '{"a":1}' });
    expect([asked.status, asked.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(files.backend.requests.length - before).toBe(1);
  });

  it('replays an error of the backend, too', async () => {
    const first = await files.world.inner(files.secret, keyed('409', 'refused'));
    expect(first.problem).toMatchObject({ code: 'conflict' });
    const again = await files.world.inner(files.secret, keyed('409', 'refused'));
    expect([again.status, (JSON.parse(again.body) as { code: string }).code]).toEqual([409, 'conflict']);
  });
});

describe('a client that disconnects', () => {
  it('aborts its backend request, and the log has status 499', async () => {
    const request = openRequest(`${files.world.url}/inner`, {
      method: 'POST',
      headers: { authorization: `Bearer ${files.secret}`, 'x-request-id': 'left' },
    });
    request.on('error', () => undefined);
    request.end(JSON.stringify(fileRequest('trickle')));
    const isThere = () =>
      files.backend.requests.at(-1)?.url === '/files/trickle' && !files.backend.requests.at(-1)!.aborted;
    await eventually('the backend gets the request', isThere);
    request.destroy();
    await eventually('the backend request is aborted', () => files.backend.requests.at(-1)?.aborted === true);
    await eventually('the request is logged', () => files.linesOf('left').length === 1);
    expect(files.linesOf('left')[0]).toMatchObject({ status: 499, source: 'mcp', tool: 'a_tool' });
  });

  it('before the backend lookup is logged with status 499, and leaves no request in flight', async () => {
    const ended = jest.spyOn(files.world.modules.quotas.recorder, 'recordEnd');
    const before = files.backend.requests.length;
    const headers = { authorization: `Bearer ${files.secret}`, 'x-request-id': 'reset' };
    const request = openRequest(`${files.world.url}/inner`, { method: 'POST', headers });
    request.on('error', () => undefined);
    request.end(JSON.stringify(fileRequest('small', { isReset: true })));
    await eventually('the request is logged', () => files.linesOf('reset').length > 0);
    request.destroy();
    expect(files.linesOf('reset')).toMatchObject([{ status: 499, source: 'mcp', tool: 'a_tool' }]);
    expect(ended.mock.calls.map(([{ usage }]) => usage?.inFlight)).toEqual([0]);
    expect(files.backend.requests).toHaveLength(before);
  });
});

describe('the end of an inner request', () => {
  it('has one log line with the called operation, and is in usage and the request log', async () => {
    const { secret: of, keyId, accountId } = await files.world.newKey('some');
    const headers = { authorization: `Bearer ${of}`, 'x-request-id': 'one-line' };
    await send(`${files.world.url}/inner`, { method: 'POST', headers, body: fileRequest('small') });
    await eventually('the request is logged', () => files.linesOf('one-line').length > 0);
    expect(files.linesOf('one-line')).toEqual([
      expect.objectContaining({
        method: 'GET',
        path: '/api/v1/files/small',
        status: 200,
        operation: 'get_files_name',
        account_id: accountId,
        api_key_id: keyId,
        source: 'mcp',
        tool: 'a_tool',
        quota: 'admitted',
      }),
    ]);
    const known = (await files.world.modules.keys.authenticator.authenticate(of, '127.0.0.1')) as CachedKey;
    const { windows } = await files.world.modules.usage.readWithRows(known.record, undefined);
    expect(windows.map(({ policy, used }) => [policy, used])).toEqual([
      ['key-minute', 1],
      ['account-month', 1],
    ]);
    const rows = files.world.written(accountId);
    expect(rows).toEqual([
      expect.objectContaining({ requestId: 'one-line', source: 'mcp', tool: 'a_tool', status: 200 }),
    ]);
  });
});
