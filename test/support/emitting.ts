/** Shares the configuration, responses and deadlines of the specs of operations that emit. */
import { expect } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { quietMsSince } from './machine-time.js';
import { eventually } from './processes.js';
import type { Receiver } from './webhook-receiver.js';

/** From a request to its event at the receiver, on an idle machine. */
export const MAX_MS = 250;
export const JSON_FIELDS = { 'content-type': 'application/json' };

/** Writes a backend's response. */
export type Say = (response: ServerResponse) => void;

/** A response with its length. */
export const whole =
  (body: string | Buffer, status = 201, fields: Record<string, string> = JSON_FIELDS): Say =>
  (response) =>
    void response.writeHead(status, { ...fields, 'content-length': Buffer.byteLength(body) }).end(body);

/** Returns a handler whose responses wait for `go`. */
export function heldBack(body: string): { say: Say; go: () => void } {
  const gone = Promise.withResolvers<void>();
  // The handler may run after `go`: the backend counts a request before that.
  const say: Say = (response) => void gone.promise.then(() => whole(body)(response));
  return { say, go: gone.resolve };
}

const OPERATIONS = [
  { match: 'POST /customers', emits: 'customer.created', emitsResource: '/id' },
  { match: 'DELETE /customers/{id}', emits: 'customer.deleted' },
];
/** Configuration of the program. */
export const EMITTING = {
  webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] },
  events: ['customer.created', 'customer.deleted'],
  operations: OPERATIONS,
};

/** From a request to its event at the receiver, less what the machine was busy with otherwise. */
export async function msUntilReceived(
  receiver: Receiver,
  accountId: string,
  id: string,
  request: () => Promise<unknown>,
): Promise<number> {
  const atMs = performance.now();
  await request();
  const found = () => receiver.received.find(({ body }) => body.includes(`${id}"`));
  await eventually('it arrives', () => found() !== undefined);
  expect(JSON.parse(found()!.body)).toMatchObject({ account_id: accountId, data: { id } });
  return Math.min(quietMsSince(atMs), found()!.atMs - atMs);
}
