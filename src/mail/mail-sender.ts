/** Sends queued mails in the worker role, so that no request waits for a mail server. */
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { MailError, type Mailer } from './mailer.js';
import { MOST_TRIES, type ClaimedMail, type MailOutbox } from './mail-outbox.js';
import { messageOf, type MailContent } from './messages.js';

const INTERVAL_MS = 2_000;
/** Mails that are claimed and sent at once, and the maximum number of claims in a round. */
const AT_ONCE = 4;
const CLAIMS_OF_A_ROUND = 5;
const STOP_PATIENCE_MS = 3_000;

export interface MailSenderParts {
  readonly outbox: MailOutbox;
  /** Returns null if no mail server is configured; mails then stay queued. Called in each round. */
  readonly mailer: () => Mailer | null;
  /** Gives a link a new token and returns its URL. Undefined if the link has expired. */
  readonly renewLink: (linkId: string) => Promise<string | undefined>;
  /** Returns the page that a notice links to. */
  readonly noticeUrl: (content: MailContent) => string;
  readonly log: Logger;
}

export class MailSender {
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> = Promise.resolve();
  private isStopped = false;
  /** Set after a database error, so that it is logged only once. */
  private hasFailed = false;

  constructor(private readonly parts: MailSenderParts) {}

  /** Sends due mails now, and again after each pause. */
  start(): void {
    this.round = this.sendDue()
      .then(() => {
        this.hasFailed = false;
      })
      .catch((error: unknown) => this.logFailure(error))
      .finally(() => {
        if (this.isStopped) return;
        this.timer = setTimeout(() => this.start(), INTERVAL_MS);
        this.timer.unref();
      });
  }

  /**
   * Stops the sender. Waits a limited time for mails being sent; the next process retries those that a slow server has
   * not accepted by then. Never rejects.
   */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    const patience = new Promise((resolve) => setTimeout(resolve, STOP_PATIENCE_MS).unref());
    await Promise.race([this.round, patience]);
  }

  /** Sends due mails. Rejects with the database's error. */
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
    if (link === undefined) return await outbox.delete(mail.id);
    try {
      await mailer.send(messageOf({ ...mail, link }));
    } catch (error) {
      return await this.handleFailure(mail, error);
    }
    await outbox.markSent(mail.id);
    METRICS.mails.series('sent').inc();
  }

  private async handleFailure(mail: ClaimedMail, error: unknown): Promise<void> {
    const { id, linkId, tries } = mail;
    const { outbox, log } = this.parts;
    const { code, isFinal } = error instanceof MailError ? error : { code: 'EUNKNOWN', isFinal: false };
    // Contains neither addresses nor the server's text, because both may name people.
    const fields = { mail_id: id, link_id: linkId, code, tries };
    if (isFinal || tries >= MOST_TRIES) {
      await outbox.markFailed(id, code);
      METRICS.mails.series('failed').inc();
      log.error(
        { event: 'mail_failed', ...fields },
        'A mail was given up: its link, where it has one, can be handed over or sent again',
      );
      return;
    }
    await outbox.scheduleRetry(mail, code);
    METRICS.mails.series('delayed').inc();
    log.warn({ event: 'mail_delayed', ...fields }, 'A mail could not be sent and is tried again');
  }

  private logFailure(error: unknown): void {
    if (this.isStopped || this.hasFailed) return;
    this.hasFailed = true;
    this.parts.log.warn({ event: 'mail_outbox_failed', err: error }, 'Mails that wait could not be read; tried again');
  }
}
