/** Configuration, backend responses and deadlines for tests of operations that emit events. */
import { expect } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { quietMsSince } from './machine-time.js';
import { eventually } from './processes.js';
import type { Receiver } from './webhook-receiver.js';

/** Maximum time from a request to the arrival of its event, in ms on an idle machine. */
export const MAX_MS = 250;
export const JSON_FIELDS = { 'content-type': 'application/json' };

/** Writes a backend's response. */
export type Say = (response: ServerResponse) => void;

/** Returns a handler that sends a response with `Content-Length`. */
export const responseWithLength =
  (body: string | Buffer, status = 201, fields: Record<string, string> = JSON_FIELDS): Say =>
  (response) =>
    void response.writeHead(status, { ...fields, 'content-length': Buffer.byteLength(body) }).end(body);

/** Returns a handler that responds only after `go` was called. */
export function heldBack(body: string): { say: Say; go: () => void } {
  const gone = Promise.withResolvers<void>();
  // `go` may be called first, because the backend records a request before it calls the handler.
  const say: Say = (response) => void gone.promise.then(() => responseWithLength(body)(response));
  return { say, go: gone.resolve };
}

const OPERATIONS = [
  { match: 'POST /customers', emits: 'customer.created', emitsResource: '/id' },
  { match: 'DELETE /customers/{id}', emits: 'customer.deleted' },
];
/** Configuration of the program with two operations that emit events. */
export const EMITTING = {
  webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] },
  events: ['customer.created', 'customer.deleted'],
  operations: OPERATIONS,
};

/**
 * Sends a request and returns the time until its event arrives, in ms. Excludes the time for which other processes kept
 * the machine busy.
 */
export async function msUntilReceived(
  receiver: Receiver,
  accountId: string,
  id: string,
  request: () => Promise<unknown>,
): Promise<number> {
  const atMs = performance.now();
  await request();
  const found = () => receiver.received.find(({ body }) => body.includes(`${id}"`));
  await eventually('the event arrives', () => found() !== undefined);
  expect(JSON.parse(found()!.body)).toMatchObject({ account_id: accountId, data: { id } });
  return Math.min(quietMsSince(atMs), found()!.atMs - atMs);
}
