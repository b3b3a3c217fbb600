/** Tests which refusals of access tokens count as failed attempts of an address. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { OAuthServerWorld } from '../../test/support/oauth-server-world.js';
import { DAY_MS } from '../../test/support/oauth-steps.js';
import { OPERATOR } from '../../test/support/stores.js';
import type { AdmissionRequest } from '../admission/admission-request.js';
import { KeyStep } from '../admission/key-step.js';
import { CachedKey } from '../keys/cached-key.js';
import { createAccessToken, createSecret } from '../keys/api-key-format.js';
import { FailedAttempts } from '../keys/failed-attempts.js';
import type { TokenAuthenticator } from '../keys/clients/token-authenticator.js';
import { PromiseReceiver } from '../platform/callbacks.js';
import type { Problem } from '../platform/problems/errors.js';
import { UsageRecorder } from '../quota/usage/usage-recorder.js';
import { McpTokenAuthenticator } from './mcp-token-authenticator.js';

const ADDRESS = '203.0.113.9';
const ATTEMPTS = 3;
const HOUR_MS = 3_600_000;

let oauth: OAuthServerWorld;
let accountId: string;
let failedAttempts: FailedAttempts;
let step: KeyStep;
beforeAll(async () => {
  oauth = await OAuthServerWorld.start();
  accountId = await oauth.newAccount();
});
afterAll(() => oauth?.stop());
beforeEach(() => {
  failedAttempts = new FailedAttempts(ATTEMPTS, oauth.clock, oauth.log);
  const recorder = new UsageRecorder(oauth.clock);
  step = new KeyStep({ authenticator: oauth.newAuthenticator(), failedAttempts, recorder });
});

/** Returns the error codes of some requests with a secret. */
async function refusals(
  secret: string,
  tokenAuthenticator: TokenAuthenticator | undefined,
): Promise<(string | undefined)[]> {
  const codes: (string | undefined)[] = [];
  for (let count = 0; count <= ATTEMPTS; count++) {
    const authorization = `Bearer ${secret}`;
    const request = {
      url: '/mcp',
      clientAddress: ADDRESS,
      authorization,
      rawHeaders: ['Authorization', authorization],
      tokenAuthenticator,
      isFromUnknownProxy: false,
    } as unknown as AdmissionRequest;
    const waiting = new PromiseReceiver<CachedKey | Problem>();
    if (step.check(request, waiting) === undefined) step.conclude(request, await waiting.promise);
    codes.push(request.refusal?.code);
  }
  return codes;
}
const times = (count: number, code: string): string[] => Array.from({ length: count }, () => code);

const unknown = [...times(ATTEMPTS, 'invalid_api_key'), 'too_many_failed_attempts'];

it('a token revoked by its client, replaced, or of a revoked key is not a failed attempt', async () => {
  const tokenAuthenticator = new McpTokenAuthenticator(oauth.issuer);
  const { access_token: first, clientId, refresh_token: begun } = await oauth.authorize(accountId);
  expect(await oauth.admit(first)).toBeInstanceOf(CachedKey);
  let refresh = begun;
  for (let count = 0; count < 50; count++) {
    oauth.clock.advance(2_000);
    const { status, body } = await oauth.token(oauth.refresh(clientId, refresh));
    expect(status).toBe(200);
    refresh = body.refresh_token;
  }
  expect(await refusals(first, tokenAuthenticator)).toEqual(times(ATTEMPTS + 1, 'expired_api_key'));
  const { body } = await oauth.token(oauth.refresh(clientId, refresh));
  await oauth.keys.endToken(body.access_token);
  expect(await refusals(body.access_token, tokenAuthenticator)).toEqual(times(ATTEMPTS + 1, 'expired_api_key'));
  const other = await oauth.token(oauth.refresh(clientId, refresh));
  const key = await oauth.keys.findToken(other.body.access_token);
  await oauth.stores.keys.revoke(key?.key.id ?? '', OPERATOR);
  expect(await refusals(other.body.access_token, tokenAuthenticator)).toEqual(times(ATTEMPTS + 1, 'revoked_api_key'));
});

it('an expired token is not a failed attempt, an unknown one is', async () => {
  const tokenAuthenticator = new McpTokenAuthenticator(oauth.issuer);
  const { access_token: token } = await oauth.authorize(accountId);
  // The library counts by the system clock, which has moved on.
  oauth.clock.advance(2 * HOUR_MS);
  expect(await refusals(token, tokenAuthenticator)).toEqual(times(ATTEMPTS + 1, 'expired_api_key'));
  expect(await refusals(createAccessToken(), tokenAuthenticator)).toEqual(unknown);
});

it('a revoked, expired or rotated-out secret is not a failed attempt, even months later', async () => {
  const input = {
    name: 'Short',
    scopes: ['customers:read'],
    environment: 'live' as const,
    expires_at: new Date(oauth.clock.now() + 200 * DAY_MS).toISOString(),
    allowed_ips: [],
    limits: null,
  };
  const { key, secret: rotatedOut } = await oauth.stores.keys.create(accountId, input, OPERATOR);
  const { secret } = await oauth.stores.keys.rotate(key.id, { overlap_seconds: 0 }, OPERATOR);
  const revoked = await oauth.stores.keys.create(accountId, input, OPERATOR);
  await oauth.stores.keys.revoke(revoked.key.id, OPERATOR);
  oauth.clock.advance(100 * DAY_MS);
  await oauth.stores.keys.deleteDeadSecrets();
  expect(await refusals(rotatedOut, undefined)).toEqual(times(ATTEMPTS + 1, 'expired_api_key'));
  expect(await refusals(revoked.secret, undefined)).toEqual(times(ATTEMPTS + 1, 'revoked_api_key'));
  oauth.clock.advance(100 * DAY_MS);
  expect(await refusals(secret, undefined)).toEqual(times(ATTEMPTS + 1, 'expired_api_key'));
  expect(await refusals(createSecret('live'), undefined)).toEqual(unknown);
});
