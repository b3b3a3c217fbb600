/** Sends what waits in the outbox, from the worker role: no request waits for a mail server. */
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { MailError, type Mailer } from './mailer.js';
import { MOST_TRIES, type ClaimedMail, type MailOutbox } from './mail-outbox.js';
import { messageOf, type MailContent } from './messages.js';

/** Between the end of one round and the next. */
const INTERVAL_MS = 2_000;
/** Mails that are claimed and sent at the same time, and how often in one round. */
const AT_ONCE = 4;
const CLAIMS_OF_A_ROUND = 5;
const STOP_PATIENCE_MS = 3_000;

/** What the sender stands on. */
export interface MailSenderParts {
  readonly outbox: MailOutbox;
  /** Null where no mail server is configured: then mails wait. Asked at each round. */
  readonly mailer: () => Mailer | null;
  /** Gives a link a new token and puts it into an address; undefined where the link has ended. */
  readonly renewLink: (linkId: string) => Promise<string | undefined>;
  /** Where readers of a notice look after what it tells. */
  readonly noticeUrl: (content: MailContent) => string;
  readonly log: Logger;
}

/** MailSender works until it is stopped. */
export class MailSender {
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> = Promise.resolve();
  private isStopped = false;
  /** That the database is away is said once. */
  private hasFailed = false;

  constructor(private readonly parts: MailSenderParts) {}

  /** Sends now, and again every so often. */
  start(): void {
    this.round = this.sendDue()
      .then(() => {
        this.hasFailed = false;
      })
      .catch((error: unknown) => this.noteFailure(error))
      .finally(() => {
        if (this.isStopped) return;
        this.timer = setTimeout(() => this.start(), INTERVAL_MS);
        this.timer.unref();
      });
  }

  /**
   * Resolves when the mails that are under way have come to an end, or soon after: who starts next sends what a slow
   * server has not taken by then. Never rejects.
   */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    const patience = new Promise((resolve) => setTimeout(resolve, STOP_PATIENCE_MS).unref());
    await Promise.race([this.round, patience]);
  }

  /** Sends what is due. Rejects as the database does. */
  async sendDue(): Promise<void> {
    const mailer = this.parts.mailer();
    if (mailer === null) return;
    for (let claims = 0; claims < CLAIMS_OF_A_ROUND && !this.isStopped; claims++) {
      const mails = await this.parts.outbox.claim(AT_ONCE);
      const results = await Promise.allSettled(mails.map((mail) => this.send(mail, mailer)));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      if (mails.length < AT_ONCE) return;
    }
  }

  private async send(mail: ClaimedMail, mailer: Mailer): Promise<void> {
    const { outbox, renewLink, noticeUrl } = this.parts;
    const link = mail.linkId === null ? noticeUrl(mail.content) : await renewLink(mail.linkId);
    if (link === undefined) return await outbox.forget(mail.id);
    try {
      await mailer.send(messageOf({ ...mail, link }));
    } catch (error) {
      return await this.notSent(mail, error);
    }
    await outbox.sent(mail.id);
    METRICS.mails.series('sent').inc();
  }

  private async notSent(mail: ClaimedMail, error: unknown): Promise<void> {
    const { id, linkId, tries } = mail;
    const { outbox, log } = this.parts;
    const { code, isFinal } = error instanceof MailError ? error : { code: 'EUNKNOWN', isFinal: false };
    // Neither address nor words of the server: they may name people.
    const fields = { mail_id: id, link_id: linkId, code, tries };
    if (isFinal || tries >= MOST_TRIES) {
      await outbox.giveUp(id, code);
      METRICS.mails.series('failed').inc();
      log.error(
        { event: 'mail_failed', ...fields },
        'A mail was given up: its link, where it has one, can be handed over or sent again',
      );
      return;
    }
    await outbox.delayed(mail, code);
    METRICS.mails.series('delayed').inc();
    log.warn({ event: 'mail_delayed', ...fields }, 'A mail could not be sent and is tried again');
  }

  private noteFailure(error: unknown): void {
    if (this.isStopped || this.hasFailed) return;
    this.hasFailed = true;
    this.parts.log.warn({ event: 'mail_outbox_failed', err: error }, 'Mails that wait could not be read; tried again');
  }
}
