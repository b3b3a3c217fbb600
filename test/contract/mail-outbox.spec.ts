/** Mails that wait: with their link or not at all, for one process at a time, and never for ever. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/database/connect.js';
import { newId } from '../../src/database/ids.js';
import { addLinkMail, addNotice, MailOutbox, mailStatesOf, type LinkMail } from '../../src/mail/mail-outbox.js';
import { renewLinkToken } from '../../src/members/links/link-renewal.js';
import { hashToken } from '../../src/members/session-token.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';

const HOUR_MS = 3_600_000;

describeOnDatabases('the outbox', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let outbox: MailOutbox;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await database.db.deleteFrom('mail').execute();
    await database.db.deleteFrom('link').execute();
    clock = new TestClock();
    outbox = new MailOutbox(database.db, clock);
  });

  const mailOf = (linkId: string): LinkMail => ({
    linkId,
    to: { name: 'Ana', address: 'ana@example.com' },
    locale: 'es',
    content: { kind: 'invitation', accountName: 'Isar', invitedBy: 'Bea', role: 'viewer' },
  });

  async function newLink(db = database.db): Promise<string> {
    const id = newId('inv', clock.now());
    const empty = { account_id: null, member_id: null, email_key: null, role: null, data: null };
    const times = { created_at: clock.now(), expires_at: clock.now() + HOUR_MS, used_at: null, revoked_at: null };
    const row = { hash: hashToken(id), id, kind: 'invitation' as const, created_by: 'operator', ...empty, ...times };
    await db.insertInto('link').values(row).execute();
    return id;
  }

  async function waitingMail(): Promise<string> {
    const id = await newLink();
    await addLinkMail(database.db, mailOf(id), clock.now());
    return id;
  }

  const stateOf = async (linkId: string) => (await mailStatesOf(database.db, [linkId])).get(linkId);

  it('has a mail with its link, or neither', async () => {
    const id = await database.db
      .transaction()
      .execute(async (trx) => {
        const made = await newLink(trx);
        await addLinkMail(trx, mailOf(made), clock.now());
        throw new Error(made);
      })
      .catch((error: Error) => error.message);
    expect(await stateOf(id)).toBeUndefined();
    expect(await outbox.claim(10)).toEqual([]);
    const other = await waitingMail();
    expect(await stateOf(other)).toBe('waiting');
    const [claimed] = await outbox.claim(10);
    expect(claimed).toMatchObject({ ...mailOf(other), tries: 1, endsMs: clock.now() + HOUR_MS });
  });

  it('gives each mail to one process', async () => {
    for (let count = 0; count < 20; count++) await waitingMail();
    const others = [outbox, new MailOutbox(database.db, clock), new MailOutbox(database.db, clock)];
    const claimed = (await Promise.all(others.map((each) => each.claim(20)))).flat();
    expect(claimed).toHaveLength(20);
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(20);
  });

  it('hands a mail out again whose process has died, five times in ten minutes, and then gives it up', async () => {
    const link = await waitingMail();
    const pauses: number[] = [];
    for (let tried = 1; tried <= 5; tried++) {
      const [claimed] = await outbox.claim(1);
      expect(claimed?.tries).toBe(tried);
      expect(await outbox.claim(1)).toEqual([]);
      const { next_at: nextAt } = await database.db.selectFrom('mail').select('next_at').executeTakeFirstOrThrow();
      pauses.push(Number(nextAt) - clock.now());
      clock.advance(Number(nextAt) - clock.now());
    }
    expect(pauses.slice(0, 4).reduce((sum, ms) => sum + ms)).toBe(600_000);
    expect(await outbox.claim(1)).toEqual([]);
    expect(await stateOf(link)).toBe('failed');
  });

  it('keeps what became of a mail, and sends it anew where somebody asks for that', async () => {
    const [sent, failed] = [await waitingMail(), await waitingMail()];
    for (const { id, linkId } of await outbox.claim(2)) {
      await (linkId === sent ? outbox.sent(id) : outbox.giveUp(id, 'EENVELOPE 550'));
    }
    expect([await stateOf(sent), await stateOf(failed)]).toEqual(['sent', 'failed']);
    clock.advance(HOUR_MS / 2);
    expect(await outbox.claim(10)).toEqual([]);
    const corrected = { ...mailOf(failed), to: { name: 'Ana', address: 'ana.b@example.com' } };
    await addLinkMail(database.db, corrected, clock.now());
    expect(await stateOf(failed)).toBe('waiting');
    expect(await outbox.claim(10)).toMatchObject([{ to: corrected.to, tries: 1 }]);
  });

  it('holds no token: the link gets a new one when its mail is sent, and the one before ends', async () => {
    const link = await waitingMail();
    const hashNow = async () =>
      (await database.db.selectFrom('link').select('hash').where('id', '=', link).executeTakeFirstOrThrow()).hash;
    const [first, second] = [
      await renewLinkToken(database.db, link, clock.now()),
      await renewLinkToken(database.db, link, clock.now()),
    ];
    expect(await hashNow()).toBe(hashToken(second ?? ''));
    expect(first).not.toBe(second);
    const rows = JSON.stringify(await database.db.selectFrom('mail').selectAll().execute());
    expect(rows).not.toContain(second);
  });

  it.each(['used_at', 'revoked_at', 'expires_at'] as const)(
    'a link with %s in the past gets no token',
    async (column) => {
      const link = await waitingMail();
      await database.db
        .updateTable('link')
        .set({ [column]: clock.now() })
        .where('id', '=', link)
        .execute();
      expect(await renewLinkToken(database.db, link, clock.now())).toBeUndefined();
    },
  );

  it('hands a notice out that brings no link, and keeps nothing of it once it is sent or given up', async () => {
    const { linkId: _none, ...mail } = mailOf('');
    for (const name of ['sent', 'refused'])
      await addNotice(database.db, { ...mail, to: { ...mail.to, name } }, clock.now());
    await waitingMail();
    const claimed = await outbox.claim(10);
    expect(claimed.map(({ to, linkId, endsMs }) => [to.name, linkId === null, endsMs === null])).toEqual(
      expect.arrayContaining([
        ['sent', true, true],
        ['refused', true, true],
        ['Ana', false, false],
      ]),
    );
    for (const { id, to } of claimed)
      await (to.name === 'refused' ? outbox.giveUp(id, 'EENVELOPE 550') : outbox.sent(id));
    const left = await database.db.selectFrom('mail').select(['to_name', 'state']).execute();
    expect(left).toEqual([{ to_name: 'Ana', state: 'sent' }]);
  });

  it('forgets a mail with its link', async () => {
    const link = await waitingMail();
    await database.db.deleteFrom('link').where('id', '=', link).execute();
    expect(await stateOf(link)).toBeUndefined();
  });
});
