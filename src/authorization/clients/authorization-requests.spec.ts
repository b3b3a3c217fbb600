/** Tests that an interrupted decision leaves nothing behind and can be repeated, with a real database. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OAuthServerWorld } from '../../../test/support/oauth-server-world.js';
import { Browser, newVerifier } from '../../../test/support/oauth-steps.js';
import { INTERACTION } from './authorization-requests.js';

let oauth: OAuthServerWorld;
let accountId: string;
let browser: Browser;
let id: string;
beforeAll(async () => {
  oauth = await OAuthServerWorld.start();
});
afterAll(() => oauth?.stop());
beforeEach(async () => {
  accountId = await oauth.newAccount();
  browser = new Browser();
  const { body } = await oauth.register();
  id = String(await oauth.ask(browser, oauth.authorizeUrl(String(body['client_id']), newVerifier().challenge)));
});

const isConclusion = (statement: { readonly kind: string }): boolean =>
  statement.kind === 'UpdateQueryNode' && JSON.stringify(statement).includes('"payload"');
const statuses = async () => (await oauth.keysOf(accountId)).map(({ status }) => status);
const codeOf = async (url: string) => ((await oauth.comeBack(browser, url)) as URLSearchParams).get('code');

describe('an authorization request', () => {
  it('stays open if no key could be created', async () => {
    await expect(oauth.approve(id, 'acc_nobody')).rejects.toMatchObject({ code: 'resource_not_found' });
    expect(await codeOf(await oauth.approve(id, accountId))).toEqual(expect.any(String));
    expect(await statuses()).toEqual(['active']);
  });

  it('creates no key if the browser cannot return', async () => {
    await oauth.objects.deleteObject(INTERACTION, id);
    await expect(oauth.approve(id, accountId)).rejects.toMatchObject({ code: 'resource_not_found' });
    expect(await statuses()).toEqual([]);
  });

  it('whose approval failed leaves no working key and can be approved again', async () => {
    oauth.failing = isConclusion;
    await expect(oauth.approve(id, accountId)).rejects.toThrow('it is away');
    oauth.failing = () => false;
    expect(await statuses()).toEqual(['revoked']);
    expect(await codeOf(await oauth.approve(id, accountId))).toEqual(expect.any(String));
    expect(await statuses()).toEqual(['revoked', 'active']);
  });

  it('whose denial failed can be denied again', async () => {
    oauth.failing = isConclusion;
    await expect(oauth.requests.deny(id)).rejects.toThrow('it is away');
    oauth.failing = () => false;
    const back = (await oauth.comeBack(browser, await oauth.requests.deny(id))) as URLSearchParams;
    expect(back.get('error')).toBe('access_denied');
  });
});
