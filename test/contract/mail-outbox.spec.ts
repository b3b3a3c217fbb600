/** Waiting mails are stored with their link or not at all, sent by one process at a time, and given up eventually. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { pino } from 'pino';
import { newId } from '../../src/stores/database/ids.js';
import { addLinkMail, addNotice, MailOutbox, mailStatesOf, type LinkMail } from '../../src/mail/mail-outbox.js';
import { MailSender } from '../../src/mail/mail-sender.js';
import { renewLinkToken } from '../../src/members/links/link-renewal.js';
import { hashToken } from '../../src/members/session-token.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';

const HOUR_MS = 3_600_000;
/** Maximum time that `SmtpMailer` waits for a server. */
const LONGEST_SEND_MS = 60_000;

describeOnDatabases('the mail outbox', (kind) => {
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

  /** Advances the clock to the time at which the next mail is due. */
  async function untilDue(): Promise<void> {
    const waiting = database.db.selectFrom('mail').select('next_at').where('state', '=', 'waiting');
    clock.advance(Number((await waiting.executeTakeFirstOrThrow()).next_at) - clock.now());
  }

  const stateOf = async (linkId: string) => (await mailStatesOf(database.db, [linkId])).get(linkId);

  it('stores a mail and its link in one transaction, or neither', async () => {
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

  it('gives each mail to one of three processes', async () => {
    for (let count = 0; count < 20; count++) await waitingMail();
    const others = [outbox, new MailOutbox(database.db, clock), new MailOutbox(database.db, clock)];
    const claimed = (await Promise.all(others.map((each) => each.claim(20)))).flat();
    expect(claimed).toHaveLength(20);
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(20);
  });

  it('tries a mail five times in ten minutes before it fails', async () => {
    const link = await waitingMail();
    const begunAt = clock.now();
    for (let tried = 1; tried <= 5; tried++) {
      const [claimed] = await outbox.claim(1);
      if (claimed === undefined) throw new Error('the due mail was not claimed');
      expect(claimed.tries).toBe(tried);
      await outbox.scheduleRetry(claimed, 'ESOCKET');
      expect(await outbox.claim(1)).toEqual([]);
      if (tried < 5) await untilDue();
    }
    expect(clock.now() - begunAt).toBe(600_000);
    await untilDue();
    expect(await outbox.claim(1)).toEqual([]);
    expect(await stateOf(link)).toBe('failed');
  });

  it('gives a mail to another process after one died, and gives up after five deaths', async () => {
    const link = await waitingMail();
    for (let tried = 1; tried <= 5; tried++) {
      expect(await outbox.claim(1)).toMatchObject([{ tries: tried }]);
      await untilDue();
    }
    expect(await outbox.claim(1)).toEqual([]);
    expect(await stateOf(link)).toBe('failed');
  });

  it('leaves a mail to its sender for the longest send time, and ignores a late failure report', async () => {
    await waitingMail();
    const [slow] = await outbox.claim(1);
    if (slow === undefined) throw new Error('the due mail was not claimed');
    const other = new MailOutbox(database.db, clock);
    clock.advance(LONGEST_SEND_MS + 5_000);
    expect(await other.claim(1)).toEqual([]);
    await untilDue();
    expect(await other.claim(1)).toMatchObject([{ id: slow.id, tries: 2 }]);
    // A late failure report of the first sender must not change the claim of the second.
    await outbox.scheduleRetry(slow, 'ETIMEDOUT');
    expect(await outbox.claim(1)).toEqual([]);
  });

  it('lets two processes send each mail to a slow server once, with the link that works', async () => {
    for (let count = 0; count < 30; count++) await waitingMail();
    const links: string[] = [];
    let [underWay, mostUnderWay] = [0, 0];
    const sender = () =>
      new MailSender({
        outbox: new MailOutbox(database.db, clock),
        mailer: () => ({
          send: async ({ text }) => {
            mostUnderWay = Math.max(mostUnderWay, ++underWay);
            await new Promise((resolve) => setTimeout(resolve, 20));
            // Sending thirty mails takes a minute of the test clock, after which a claim ends.
            clock.advance(LONGEST_SEND_MS / 30);
            links.push(/#([\w-]{43})/.exec(text)?.[1] ?? '');
            underWay--;
          },
        }),
        renewLink: async (id) => `http://localhost/link#${await renewLinkToken(database.db, id, clock.now())}`,
        noticeUrl: () => '',
        log: pino({ level: 'silent' }),
      });
    const senders = [sender(), sender()];
    for (let rounds = 0; rounds < 5; rounds++) await Promise.all(senders.map((each) => each.sendDue()));
    expect(links).toHaveLength(30);
    expect(mostUnderWay).toBeLessThanOrEqual(8);
    const kept = (await database.db.selectFrom('link').select('hash').execute()).map(({ hash }) => hash);
    expect(links.map(hashToken).toSorted()).toEqual(kept.toSorted());
  });

  it('keeps the state of a mail, and sends it again to a corrected address on request', async () => {
    const [sent, failed] = [await waitingMail(), await waitingMail()];
    for (const { id, linkId } of await outbox.claim(2)) {
      await (linkId === sent ? outbox.markSent(id) : outbox.markFailed(id, 'EENVELOPE 550'));
    }
    expect([await stateOf(sent), await stateOf(failed)]).toEqual(['sent', 'failed']);
    clock.advance(HOUR_MS / 2);
    expect(await outbox.claim(10)).toEqual([]);
    const corrected = { ...mailOf(failed), to: { name: 'Ana', address: 'ana.b@example.com' } };
    await addLinkMail(database.db, corrected, clock.now());
    expect(await stateOf(failed)).toBe('waiting');
    expect(await outbox.claim(10)).toMatchObject([{ to: corrected.to, tries: 1 }]);
  });

  it('stores no token: each renewal gives the link another token and replaces the previous one', async () => {
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
    'gives no token to a link with %s in the past',
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

  it('hands out a notice without a link, and deletes it once it is sent or failed', async () => {
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
      await (to.name === 'refused' ? outbox.markFailed(id, 'EENVELOPE 550') : outbox.markSent(id));
    const left = await database.db.selectFrom('mail').select(['to_name', 'state']).execute();
    expect(left).toEqual([{ to_name: 'Ana', state: 'sent' }]);
  });

  it('deletes a mail with its link', async () => {
    const link = await waitingMail();
    await database.db.deleteFrom('link').where('id', '=', link).execute();
    expect(await stateOf(link)).toBeUndefined();
  });
});
