/** A stream whose key ends while the stream is being opened. */
import { expect, it } from '@jest/globals';
import type { EndpointRequest } from '../../admission/mounted/endpoint-request.js';
import type { CachedKey } from '../../keys/cached-key.js';
import { Problem } from '../../platform/problems/errors.js';
import { Subscriptions } from './subscriptions.js';

/** A request, and what is written in response to it. */
function listener() {
  const written: string[] = [];
  const nodeResponse = {
    writableLength: 0,
    writeHead: (status: number) => void written.push(String(status)),
    write: (text: string) => void written.push(text),
    end: () => void written.push('end'),
  };
  const message = { response: { isGone: false }, nodeResponse, clientAddress: '203.0.113.9', bytesOut: 0 };
  return { written, request: { ...message, dateLine: '', responseLines: '' } as unknown as EndpointRequest };
}

const KEY = { record: { keyId: 'key_1', accountId: 'acc_1', hash: 'hash' } } as CachedKey;

it.each([
  ['ends at once', new Problem('revoked_api_key'), 0, /^end$/],
  ['goes on where its key does, and is told nothing', undefined, 1, /acknowledged/],
])('a stream whose key is checked again %s', async (_what, problem, left, last) => {
  const asked: unknown[] = [];
  const subscriptions = new Subscriptions(async (hash, address) => {
    asked.push([hash, address]);
    return problem;
  });
  const { request, written } = listener();
  subscriptions.open(request, 1, KEY, true);
  await Promise.resolve();
  expect(asked).toEqual([['hash', '203.0.113.9']]);
  expect(subscriptions.size).toBe(left);
  expect(written.at(-1)).toMatch(last);
  subscriptions.stop();
});
