/** Common webhook libraries accept the webhooks of the gateway, and nothing else. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import {
  formatWebhookSecret,
  newSigningSeed,
  newWebhookSecret,
  privateKeyOf,
} from '../../src/webhooks/signing/webhook-secret.js';
import { signatureFields } from '../../src/webhooks/signing/webhook-signature.js';
import { describeUnless } from '../support/describe-with.js';
import { installNpmPackages, installPythonPackages, pythonOf } from '../support/foreign-packages.js';

const FOLDER = 'test/webhook-verifiers';
const NODE_LIBRARIES = ['standardwebhooks', 'svix', 'openai', 'replicate'];
const PYTHON_LIBRARY = 'standardwebhooks (Python)';
const LIBRARIES = [...NODE_LIBRARIES, PYTHON_LIBRARY];

/**
 * Reason why the libraries are missing, if any. Installs them before anything is signed, because that can take longer
 * than a signature is valid.
 */
const missing = installNpmPackages(FOLDER) ?? installPythonPackages(FOLDER);

const secret = newWebhookSecret();
const successor = newWebhookSecret();
const privateKeys = [privateKeyOf(newSigningSeed())];
const body = '{"type":"customer.created","data":{"name":"Añá 🚣","id":"cus_1"}}';

interface Webhook {
  readonly what: string;
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Verified message, its library, and the outcome. */
type Outcome = readonly [what: string, library: string, outcome: string];

function webhook(what: string, changed: Partial<Webhook> = {}, aheadS = 0, secrets = [secret]): Webhook {
  const signed = signatureFields('evt_01jd3k', Date.now() + aheadS * 1_000, Buffer.from(body), {
    secrets,
    privateKeys,
  });
  const headers = { 'content-type': 'application/json', ...signed };
  return { what, secret: formatWebhookSecret(secret), headers, body, ...changed };
}

const genuine = webhook('as it was sent');
const ACCEPTED = [
  genuine,
  webhook('four minutes late', {}, -240),
  webhook('four minutes early', {}, 240),
  webhook('during a rotation, with the old secret', {}, 0, [successor, secret]),
  webhook('during a rotation, with the new secret', { secret: formatWebhookSecret(successor) }, 0, [successor, secret]),
];
const REFUSED = [
  webhook('with another body', { body: body.replace('cus_1', 'cus_2') }),
  webhook('with a body that was parsed and written again', { body: JSON.stringify(JSON.parse(body), null, 1) }),
  webhook('with another id', { headers: { ...genuine.headers, 'webhook-id': 'evt_01jd3m' } }),
  webhook('with another time', {
    headers: { ...genuine.headers, 'webhook-timestamp': String(Number(genuine.headers['webhook-timestamp']) + 1) },
  }),
  webhook('with another secret', { secret: formatWebhookSecret(newWebhookSecret()) }),
  webhook('with the signature of the key pair alone', {
    headers: { ...genuine.headers, 'webhook-signature': genuine.headers['webhook-signature']?.split(' ')[1] ?? '' },
  }),
];

/**
 * Webhooks outside the tolerance of five minutes. The early one has a margin, because the last library checks some
 * seconds later.
 */
const LATE_OR_EARLY = [webhook('301 s late', {}, -301), webhook('330 s early', {}, 330)];
/** Library that checks only the signature, not the time. */
const IGNORES_TIME = 'replicate';

describeUnless(missing)('a webhook', () => {
  const outcomes: Outcome[] = [];

  beforeAll(() => {
    const input = JSON.stringify([...ACCEPTED, ...REFUSED, ...LATE_OR_EARLY]);
    for (const [command, file] of [
      [process.execPath, 'verify.mjs'],
      [pythonOf(FOLDER), 'verify.py'],
    ] as const) {
      const { stdout, stderr } = spawnSync(command, [file], { cwd: resolve(FOLDER), input, encoding: 'utf8' });
      if (stdout === '') throw new Error(stderr);
      outcomes.push(...(JSON.parse(stdout) as Outcome[]));
    }
  });

  const outcomesOf = (what: string) =>
    Object.fromEntries(
      outcomes.flatMap(([of, library, outcome]) => (of === what ? [[library, outcome.split(':')[0]]] : [])),
    );
  const byAll = (outcome: string) => Object.fromEntries(LIBRARIES.map((library) => [library, outcome]));

  it.each(ACCEPTED.map(({ what }) => what))('%s is accepted by each of the libraries', (what) => {
    expect(outcomesOf(what)).toEqual(byAll('accepted'));
  });

  it.each(REFUSED.map(({ what }) => what))('%s is refused by each of the libraries', (what) => {
    expect(outcomesOf(what)).toEqual(byAll('refused'));
  });

  it.each(LATE_OR_EARLY.map(({ what }) => what))(
    '%s is refused by each of the libraries that check the time',
    (what) => {
      expect(outcomesOf(what)).toEqual({ ...byAll('refused'), [IGNORES_TIME]: 'accepted' });
    },
  );
});
