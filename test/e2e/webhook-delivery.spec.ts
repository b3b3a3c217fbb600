/** An event reaches its receiver within a quarter of a second, signed with the secret of its endpoint. */
import { createHmac, createPublicKey, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { notifyBy, WorkSignal } from '../../src/outbox/work-signal.js';
import { addEvents } from '../../src/outbox/outbox.js';
import { newSecretsKey } from '../../src/stores/secrets/secret-box.js';
import { SAMPLE_ORIGIN, WEBHOOK_SAMPLES } from '../../src/reference/webhooks/webhook-samples.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { quietMsSince } from '../support/machine-time.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type Role, type RunningTrailgate } from '../support/program.js';
import { TurnedClock } from '../support/turned-clock.js';
import type { MadeEndpoint } from '../support/webhook-endpoints.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';
import { serviceEvent } from '../support/webhooks.js';

/** Sample code that an integrator copies. */
interface PublicKeySample {
  publicKeysOf(endpointId: string): Promise<string[]>;
  verifyWebhook(publicKey: string, headers: IncomingHttpHeaders, body: Buffer): boolean;
}

const EVENTS = 10;
const PATIENT_MS = 60_000;
const MAX_MS = 250;
/** DER prefix of an Ed25519 public key, before its 32 bytes (RFC 8410). */
const PUBLIC_DER = Buffer.from('302a300506032b6570032100', 'hex');

describeOnDatabases('an event', (kind) => {
  let fresh: FreshDatabase | undefined;
  let database: DatabaseHandle;
  let trailgate: RunningTrailgate;
  let receiver: Receiver;
  let endpoint: MadeEndpoint;
  let accountId: string;

  beforeAll(async () => {
    fresh = kind === 'postgres' ? await freshDatabase() : undefined;
    receiver = await startReceiver();
    trailgate = await start();
    const given = fresh === undefined ? {} : { databaseUrl: fresh.url };
    database = await openDatabase({ ...given, dataDir: trailgate.dataDir });
    const account = await trailgate.admin.createAccount({ name: 'Rafting', plan: 'pro' });
    accountId = account.id;
    endpoint = await trailgate.admin.call<MadeEndpoint>('POST', `/accounts/${accountId}/webhook-endpoints`, {
      url: `${receiver.url}/hook`,
    });
  });
  afterAll(async () => {
    await trailgate.stop();
    receiver.stop();
    await database.close();
    await fresh?.drop();
    clock.close();
  });

  const secretsKey = newSecretsKey();
  const clock = new TurnedClock();
  const start = (before?: RunningTrailgate, roles: readonly Role[] = ['gateway', 'admin', 'worker']) =>
    startTrailgate({
      roles,
      config: { webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] } },
      env: {
        ...clock.env,
        TRAILGATE_SECRETS_KEY: secretsKey,
        ...(fresh === undefined ? {} : { DATABASE_URL: fresh.url }),
      },
      ...(before === undefined ? {} : { dataDir: before.dataDir, adminToken: before.adminToken }),
    });

  const metrics = async () => (await fetch(`${trailgate.adminUrl}/metrics`)).text();

  async function addEvent(name: string): Promise<number> {
    const { endpointIds } = await addEvents(database.db, [serviceEvent(name, { accountId })], Date.now());
    const atMs = performance.now();
    // Notifies the program as a gateway in another process does. On SQLite no other process can notify it.
    if (kind === 'postgres') new WorkSignal(notifyBy(database.db)).signalEndpoints(endpointIds);
    return atMs;
  }

  it('is delivered with signatures that the secret and the public key of the endpoint verify', async () => {
    await addEvent('first');
    await eventually('the event arrives', () => receiver.received.length === 1);
    const [{ id, headers, body }] = receiver.received as [Receiver['received'][number]];
    expect(JSON.parse(body)).toMatchObject({ id, type: 'customer.created', account_id: accountId });
    const content = `${id}.${String(headers['webhook-timestamp'])}.${body}`;
    const [v1, v1a = ''] = String(headers['webhook-signature']).split(' ');
    const secret = Buffer.from(endpoint.secret.replace('whsec_', ''), 'base64');
    expect(v1).toBe(`v1,${createHmac('sha256', secret).update(content).digest('base64')}`);
    const raw = Buffer.from((endpoint.public_keys[0]?.key ?? '').replace('whpk_', ''), 'base64');
    const key = createPublicKey({ key: Buffer.concat([PUBLIC_DER, raw]), format: 'der', type: 'spki' });
    expect(verify(null, Buffer.from(content), key, Buffer.from(v1a.replace('v1a,', ''), 'base64'))).toBe(true);
    await eventually('the API lists the delivery as succeeded', async () => {
      const { data } = await trailgate.admin.call<{ data: { status: string }[] }>(
        'GET',
        `/webhook-endpoints/${endpoint.id}/deliveries`,
      );
      return data[0]?.status === 'succeeded';
    });
    const isAttempt = (line: Record<string, unknown>) =>
      line['event'] === 'webhook_attempt' && line['endpoint_id'] === endpoint.id && line['status'] === 204;
    await eventually('the attempt is logged', () => trailgate.logs().some(isAttempt));
    await addEvent('again');
    await eventually('the metrics report a working lane', async () =>
      (await metrics()).includes('trailgate_webhook_lanes{state="working"} 1'),
    );
    const text = await metrics();
    expect(text).toMatch(/^trailgate_webhook_active_attempts \d/m);
    expect(text).toMatch(/^trailgate_webhook_oldest_due_seconds \d/m);
    // On SQLite there is no listener, because there is only one process.
    const hears = /^trailgate_webhook_listener_up (\d)$/m.exec(text)?.[1];
    expect(hears).toBe(kind === 'postgres' ? '1' : undefined);
  });

  // On SQLite events come from the program itself, and no other process can notify it.
  if (kind === 'postgres')
    it('reaches its receiver within a quarter of a second', async () => {
      const tookMs: number[] = [];
      for (let count = 0; count < EVENTS; count++) {
        const before = receiver.received.length;
        const atMs = await addEvent(`event-${count}`);
        await eventually('the event arrives', () => receiver.received.length > before);
        tookMs.push(Math.min(quietMsSince(atMs), receiver.received.at(-1)!.atMs - atMs));
      }
      expect(Math.max(...tookMs)).toBeLessThan(MAX_MS);
    });

  it('can be verified with the public keys that the gateway publishes, also during a secret rotation', async () => {
    const { code = '' } = WEBHOOK_SAMPLES.find(({ title }) => title === 'JavaScript, with the public key') ?? {};
    const program = code.replaceAll(SAMPLE_ORIGIN, trailgate.gatewayUrl);
    const { publicKeysOf, verifyWebhook } = (await import(
      `data:text/javascript,${encodeURIComponent(program)}`
    )) as PublicKeySample;
    const verifiedBy = (keys: readonly string[]) => {
      const { headers, body } = receiver.received.at(-1)!;
      return keys.map((key) => verifyWebhook(key, headers, Buffer.from(body)));
    };
    const arrives = async (name: string) => {
      const before = receiver.received.length;
      await addEvent(name);
      await eventually(name, () => receiver.received.length > before);
    };
    const rotate = (overlap: object) =>
      trailgate.admin.call<MadeEndpoint>('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, overlap);

    const first = await publicKeysOf(endpoint.id);
    expect(first).toEqual(endpoint.public_keys.map(({ key }) => key));
    await arrives('before');
    expect(verifiedBy(first)).toEqual([true]);
    const { public_keys: rotated } = await rotate({});
    // Both the old key and the published keys verify this event.
    await arrives('during');
    expect(verifiedBy(first)).toEqual([true]);
    // The gateway reads the keys again once its copy is five seconds old.
    clock.runAhead(6_000);
    await eventually('both public keys are published', async () => (await publicKeysOf(endpoint.id)).length === 2);
    expect(verifiedBy(await publicKeysOf(endpoint.id))).toEqual([true, true]);
    const response = await fetch(`${trailgate.gatewayUrl}/.well-known/webhooks/public-keys?endpoint=${endpoint.id}`);
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(await response.json()).toEqual({ keys: rotated });
    await rotate({ overlap_seconds: 0 });
    clock.runAhead(12_000);
    await eventually(
      'only the current public key is published',
      async () => (await publicKeysOf(endpoint.id)).length === 1,
    );
    await arrives('after');
    expect(verifiedBy(await publicKeysOf(endpoint.id))).toEqual([true]);
    expect(verifiedBy(first)).toEqual([false]);
  });

  it.each([
    '',
    '?endpoint=whe_0000000000000000000000000',
    '?endpoint=acc_1',
    '?endpoint=a&endpoint=b',
    '?endpoint[]=a',
  ])('of an unknown endpoint has no public keys (%s)', async (query) => {
    const response = await fetch(`${trailgate.gatewayUrl}/.well-known/webhooks/public-keys${query}`);
    expect([response.status, await response.json()]).toEqual([200, { keys: [] }]);
  });

  it('is delivered after a restart if it was created while the program was stopped', async () => {
    const before = receiver.received.length;
    await trailgate.stop();
    await addEvent('meanwhile');
    trailgate = await start(trailgate);
    await eventually('the event arrives', () => receiver.received.length > before);
  });

  // On SQLite no other process can deliver.
  if (kind === 'postgres')
    it('is delivered by another process if the delivering one is killed, and none is lost', async () => {
      const before = receiver.received.length;
      receiver.respond(() => {});
      for (let count = 0; count < EVENTS; count++) await addEvent(`killed-${count}`);
      await eventually('a delivery is in progress', () => receiver.received.length > before);
      await trailgate.kill9();
      receiver.respond((response) => response.writeHead(204).end());
      // The new process detects at its start that the old one is dead. A running one detects it at its next scan
      // (webhook-owners).
      const other = await start(undefined, ['admin', 'worker']);
      try {
        const ids = () => new Set(receiver.received.slice(before).map(({ id }) => id));
        // If the database has not noticed the death yet, the lease of 30 seconds has to expire first.
        await eventually('all events arrive', () => ids().size === EVENTS, PATIENT_MS);
        const [{ id = '' } = {}] = receiver.received.slice(before);
        await eventually('the interrupted delivery arrives again', () =>
          receiver.received.slice(before + 1).some((again) => again.id === id),
        );
      } finally {
        await other.stop();
      }
    });
});
