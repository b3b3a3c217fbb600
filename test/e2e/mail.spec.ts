/** Mails with links, from the database to a real mail server. The server may refuse them or be unreachable. */
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { newId } from '../../src/stores/database/ids.js';
import { SmtpMailer, type Message } from '../../src/mail/mailer.js';
import { addLinkMail, type LinkMail } from '../../src/mail/mail-outbox.js';
import { hashToken } from '../../src/members/session-token.js';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { eventually, freePort, temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { decodedHeader, headerOf, startSmtp, textOf, type SmtpOptions, type SmtpServer } from '../support/smtp.js';

const FROM = { name: 'Trailgate Öfter', address: 'no-reply@example.com' };
const MESSAGE: Message = {
  to: { name: 'Ana Peña', address: 'ana@example.com' },
  subject: 'Elija una contraseña nueva',
  text: `Hola:\n\nhttps://admin.example.com/link#${'a'.repeat(43)}\n\nseñal\n`,
  locale: 'es',
};

let server: SmtpServer | undefined;
const start = async (options: SmtpOptions = {}): Promise<SmtpServer> => (server = await startSmtp(options));
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

describe('a mail server', () => {
  const mailerOf = ({ port }: SmtpServer, login = '', scheme = 'smtp') =>
    new SmtpMailer({ url: `${scheme}://${login}127.0.0.1:${port}`, from: FROM, requireTls: true }, 3_000);
  const failureOf = async (sending: Promise<void>): Promise<unknown> =>
    await sending.then(
      () => 'sent',
      (error: unknown) => error,
    );

  it('gets the mail with its sender, recipient, subject, language and unbroken link', async () => {
    const smtp = await start();
    await mailerOf(smtp).send(MESSAGE);
    await eventually('the mail arrives', () => smtp.mails.length === 1);
    const [mail] = smtp.mails;
    if (mail === undefined) throw new Error('no mail arrived');
    expect(mail).toMatchObject({ from: 'no-reply@example.com', to: ['ana@example.com'] });
    expect(decodedHeader(headerOf(mail, 'From') ?? '')).toBe('Trailgate Öfter <no-reply@example.com>');
    expect(decodedHeader(headerOf(mail, 'To') ?? '')).toBe('Ana Peña <ana@example.com>');
    expect(decodedHeader(headerOf(mail, 'Subject') ?? '')).toBe(MESSAGE.subject);
    expect(headerOf(mail, 'Auto-Submitted')).toBe('auto-generated');
    expect(headerOf(mail, 'Content-Language')).toBe('es');
    expect(headerOf(mail, 'Content-Type')).toMatch(/^text\/plain/);
    expect(textOf(mail).replaceAll('\r\n', '\n').trimEnd()).toBe(MESSAGE.text.trimEnd());
  });

  it('gets the credentials of the URL unescaped, and a wrong password is a temporary failure', async () => {
    const smtp = await start({ auth: { user: 'me@example.com', password: 'a#b/c%?' }, plain: true });
    await mailerOf(smtp, 'me%40example.com:a%23b%2Fc%25%3F@').send(MESSAGE);
    await eventually('the mail arrives', () => smtp.mails.length === 1);
    expect(smtp.mails[0]?.user).toBe('me@example.com');
    // The mail keeps waiting, because an operator can correct the password.
    const failure = await failureOf(mailerOf(smtp, 'me%40example.com:wrong@').send(MESSAGE));
    expect(failure).toMatchObject({ code: 'EAUTH 535', isFinal: false });
  });

  it.each([
    [550, true],
    [450, false],
  ])('that refuses the recipient with %i fails the mail for good: %s', async (refuse, isFinal) => {
    const smtp = await start({ refuse });
    const failure = await failureOf(mailerOf(smtp).send(MESSAGE));
    expect(failure).toMatchObject({ code: `EENVELOPE ${refuse}`, isFinal });
    expect(String(failure)).not.toContain('ana@example.com');
  });

  it('that accepts a connection and never answers causes a timeout, which is not final', async () => {
    const smtp = await start({ silent: true });
    const failure = await failureOf(mailerOf(smtp).send(MESSAGE));
    expect(failure).toMatchObject({ code: 'ETIMEDOUT', isFinal: false });
  });

  it.each([
    ['name', { ...MESSAGE, to: { name: 'Ana\r\nBcc: evil@example.com', address: 'ana@example.com' } }],
    ['address', { ...MESSAGE, to: { name: 'Ana', address: 'ana@example.com\r\nBcc: evil@example.com' } }],
    ['subject', { ...MESSAGE, subject: 'Hello\r\nBcc: evil@example.com' }],
  ])('gets no mail whose %s would inject a header', async (_what, message) => {
    const smtp = await start();
    await mailerOf(smtp).send(MESSAGE);
    expect(await failureOf(mailerOf(smtp).send(message))).toMatchObject({ code: 'EHEADER', isFinal: true });
    await eventually('the accepted mail arrives', () => smtp.mails.length > 0);
    expect(smtp.mails.map(({ to }) => to)).toEqual([['ana@example.com']]);
    expect(smtp.mails[0]?.source).not.toContain('evil');
  });

  it('gets a text unchanged, not the file or page that it names', async () => {
    const smtp = await start();
    for (const text of ['/etc/passwd', 'file:///etc/passwd', 'http://127.0.0.1:9/']) {
      await mailerOf(smtp).send({ ...MESSAGE, text });
    }
    await eventually('three mails arrive', () => smtp.mails.length === 3);
    expect(smtp.mails.map((mail) => textOf(mail).trim())).toEqual([
      '/etc/passwd',
      'file:///etc/passwd',
      'http://127.0.0.1:9/',
    ]);
  });
});

describeWithOpenssl('TLS', () => {
  let files: { readonly cert: string; readonly key: string };
  beforeAll(() => {
    files = makeCertificate(temporaryFolder('smtp'), 'smtp');
  });

  describe('to a mail server', () => {
    const send = ({ port }: SmtpServer, scheme: string): Promise<void> =>
      new SmtpMailer({ url: `${scheme}://localhost:${port}`, from: FROM, requireTls: true }).send(MESSAGE);

    it('by smtps refuses an untrusted certificate and sends no mail', async () => {
      const smtp = await start({ ...files, secure: true });
      await expect(send(smtp, 'smtps')).rejects.toMatchObject({ code: 'ESOCKET', isFinal: false });
      expect(smtp.mails).toEqual([]);
    });

    it('on localhost is used if the server offers it, with any certificate', async () => {
      const smtp = await start(files);
      await send(smtp, 'smtp');
      await eventually('the mail arrives', () => smtp.mails.length === 1);
      expect(smtp.mails[0]?.isSecure).toBe(true);
    });
  });
});

describe('the program', () => {
  let trailgate: RunningTrailgate | undefined;
  let dataDir: string;

  beforeAll(() => {
    dataDir = '';
  });
  afterEach(async () => {
    await trailgate?.stop();
    trailgate = undefined;
  });

  /** Runs `work` with the database of the data folder. No program can use the folder meanwhile. */
  async function inDatabase<Value>(work: (database: DatabaseHandle) => Promise<Value>): Promise<Value> {
    const database = await openDatabase({ dataDir });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  /** Stores an invitation and its mail as the admin API does. @returns the ID of its link. */
  const invite = (locale: LinkMail['locale'], address: string): Promise<string> =>
    inDatabase(async ({ db }) => {
      const now = Date.now();
      const id = newId('inv', now);
      const empty = {
        account_id: null,
        member_id: null,
        email_key: address,
        data: null,
        used_at: null,
        revoked_at: null,
      };
      const row = {
        hash: hashToken(id),
        id,
        kind: 'invitation' as const,
        role: 'viewer' as const,
        created_by: 'operator',
      };
      await db
        .insertInto('link')
        .values({ ...row, ...empty, created_at: now, expires_at: now + 3_600_000 })
        .execute();
      const content = { kind: 'invitation', accountName: 'Isar Rafting', invitedBy: 'Bea', role: 'viewer' } as const;
      await addLinkMail(db, { linkId: id, to: { name: '', address }, locale, content }, now);
      return id;
    });
  const rowsOf = () =>
    inDatabase(async ({ db }) => ({
      mails: await db.selectFrom('mail').select(['to_address', 'state', 'tries', 'error']).execute(),
      hashes: (await db.selectFrom('link').select('hash').where('kind', '=', 'invitation').execute()).map(
        ({ hash }) => hash,
      ),
    }));
  const makeDue = () => inDatabase(({ db }) => db.updateTable('mail').set({ next_at: 0 }).execute());
  const tokenIn = (text: string): string | undefined =>
    /^http:\/\/localhost:\d+\/link#([\w-]{43})\r?$/m.exec(text)?.[1];

  async function startWith(smtpPort: number): Promise<RunningTrailgate> {
    const port = await freePort();
    const mail = { url: `smtp://127.0.0.1:${smtpPort}`, from: 'Trailgate <no-reply@example.com>' };
    return (trailgate = await startTrailgate({ dataDir, config: { admin: { port, mail } } }));
  }

  it("sends waiting mails in each recipient's language, with the stored tokens, which are not logged", async () => {
    dataDir = temporaryFolder('mail-data');
    await invite('en', 'ana@example.com');
    await invite('es', 'bea@example.com');
    const smtp = await start();
    const running = await startWith(smtp.port);
    await eventually('both mails arrive', () => smtp.mails.length === 2);
    const mails = smtp.mails.toSorted((one, other) => String(one.to).localeCompare(String(other.to)));
    expect(mails.map((mail) => decodedHeader(headerOf(mail, 'Subject') ?? ''))).toEqual([
      'You are invited to Isar Rafting',
      'Le invitan a Isar Rafting',
    ]);
    const tokens = mails.map((mail) => tokenIn(textOf(mail)) ?? '');
    expect(running.stdout.join('\n') + running.stderr.join('\n')).not.toMatch(new RegExp(tokens.join('|')));
    await running.stop();
    const { mails: rows, hashes } = await rowsOf();
    expect(rows.map(({ state }) => state)).toEqual(['sent', 'sent']);
    expect(hashes.toSorted()).toEqual(tokens.map(hashToken).toSorted());
  });

  it('retries a mail after an unreachable server, which is logged, and once after a kill -9 during a delivery', async () => {
    dataDir = temporaryFolder('mail-data');
    await invite('en', 'ana@example.com');
    const away = await startWith(await freePort());
    const delayed = () => away.logs().find(({ event }) => event === 'mail_delayed');
    await eventually('the delay is logged', () => delayed() !== undefined);
    expect(delayed()).toMatchObject({ level: 'warn', code: 'ESOCKET', tries: 1 });
    expect(away.stdout.join('\n')).not.toContain('ana@example.com');
    await away.stop();
    await makeDue();
    const unconfirmed = await startSmtp({ unconfirmed: true });
    const hanging = await startWith(unconfirmed.port);
    await eventually('the delivery is in progress', () => unconfirmed.mails.length === 1);
    const lost = tokenIn(textOf(unconfirmed.mails[0]!));
    await hanging.kill9();
    await unconfirmed.stop();
    await makeDue();
    const smtp = await start();
    const running = await startWith(smtp.port);
    await eventually('the mail arrives', () => smtp.mails.length === 1);
    const metrics = async () => await (await fetch(`${running.adminUrl}/metrics`)).text();
    await eventually('the sent mail is counted', async () =>
      /trailgate_mails_total\{outcome="sent"\} 1/.test(await metrics()),
    );
    await running.stop();
    const { mails, hashes } = await rowsOf();
    expect(mails).toEqual([{ to_address: 'ana@example.com', state: 'sent', tries: 3, error: null }]);
    expect(smtp.mails).toHaveLength(1);
    const token = tokenIn(textOf(smtp.mails[0]!)) ?? '';
    expect(hashes).toEqual([hashToken(token)]);
    expect(lost).toHaveLength(43);
    expect(token).not.toBe(lost);
  });

  it('gives up a mail whose recipient the server refuses, and logs it', async () => {
    dataDir = temporaryFolder('mail-data');
    await invite('en', 'nobody@example.com');
    const smtp = await start({ refuse: 550 });
    const running = await startWith(smtp.port);
    const failed = () => running.logs().find(({ event }) => event === 'mail_failed');
    await eventually('the failure is logged', () => failed() !== undefined);
    expect(failed()).toMatchObject({ level: 'error', code: 'EENVELOPE 550', tries: 1 });
    await running.stop();
    expect((await rowsOf()).mails).toMatchObject([{ state: 'failed', error: 'EENVELOPE 550' }]);
  });
});
