/** Tests that an interrupted decision leaves nothing behind and can be repeated, with a real database. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OAuthDoor } from '../../../test/support/oauth-door.js';
import { Browser, newVerifier } from '../../../test/support/oauth-steps.js';
import { INTERACTION } from './authorization-requests.js';

let door: OAuthDoor;
let accountId: string;
let browser: Browser;
let id: string;
beforeAll(async () => {
  door = await OAuthDoor.start();
});
afterAll(() => door?.stop());
beforeEach(async () => {
  accountId = await door.newAccount();
  browser = new Browser();
  const { body } = await door.register();
  id = String(await door.ask(browser, door.authorizeUrl(String(body['client_id']), newVerifier().challenge)));
});

const isConclusion = (statement: { readonly kind: string }): boolean =>
  statement.kind === 'UpdateQueryNode' && JSON.stringify(statement).includes('"payload"');
const statuses = async () => (await door.keysOf(accountId)).map(({ status }) => status);
const codeOf = async (url: string) => ((await door.comeBack(browser, url)) as URLSearchParams).get('code');

describe('an authorization request', () => {
  it('stays open if no key could be created', async () => {
    await expect(door.approve(id, 'acc_nobody')).rejects.toMatchObject({ code: 'resource_not_found' });
    expect(await codeOf(await door.approve(id, accountId))).toEqual(expect.any(String));
    expect(await statuses()).toEqual(['active']);
  });

  it('creates no key if the browser cannot return', async () => {
    await door.objects.forget(INTERACTION, id);
    await expect(door.approve(id, accountId)).rejects.toMatchObject({ code: 'resource_not_found' });
    expect(await statuses()).toEqual([]);
  });

  it('whose approval failed leaves no working key and can be approved again', async () => {
    door.failing = isConclusion;
    await expect(door.approve(id, accountId)).rejects.toThrow('it is away');
    door.failing = () => false;
    expect(await statuses()).toEqual(['revoked']);
    expect(await codeOf(await door.approve(id, accountId))).toEqual(expect.any(String));
    expect(await statuses()).toEqual(['revoked', 'active']);
  });

  it('whose denial failed can be denied again', async () => {
    door.failing = isConclusion;
    await expect(door.requests.deny(id)).rejects.toThrow('it is away');
    door.failing = () => false;
    const back = (await door.comeBack(browser, await door.requests.deny(id))) as URLSearchParams;
    expect(back.get('error')).toBe('access_denied');
  });
});
