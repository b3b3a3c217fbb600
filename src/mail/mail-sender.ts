/**
 * Sends queued mails in the worker role, so that no request waits for a mail server. Failed mails are retried, up to
 * `MAX_TRIES` attempts.
 */
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { MailError, type Mailer } from './mailer.js';
import { MAX_TRIES, type ClaimedMail, type MailOutbox } from './mail-outbox.js';
import { messageOf, type MailContent } from './messages.js';

/** Pause between two rounds of sending. */
const INTERVAL_MS = 2_000;
/** Number of mails that the worker claims and sends concurrently. */
const AT_ONCE = 4;
/** Maximum number of claims in one round. */
const CLAIMS_PER_ROUND = 5;
/** Maximum time for which `stop` waits for mails that are being sent. */
const STOP_PATIENCE_MS = 3_000;

export interface MailSenderParts {
  readonly outbox: MailOutbox;
  /**
   * Returns the mailer, or null if no mail server is configured. Without a mailer, mails remain queued. Called in each
   * round, so that a reload applies.
   */
  readonly mailer: () => Mailer | null;
  /**
   * Gives a link a new token and returns its URL. Returns undefined if the link has expired, or was used or revoked.
   */
  readonly renewLink: (linkId: string) => Promise<string | undefined>;
  /** Returns the URL of the panel page that a notice refers to. */
  readonly noticeUrl: (content: MailContent) => string;
  readonly log: Logger;
}

export class MailSender {
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> = Promise.resolve();
  private isStopped = false;
  /** Whether the last round failed with a database error. Repeated failures are logged only once. */
  private hasFailed = false;

  constructor(private readonly parts: MailSenderParts) {}

  /** Sends due mails now, and again after each pause until `stop`. Call it once. */
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
   * Stops the sender. Waits up to `STOP_PATIENCE_MS` for mails that are being sent. If the server has not accepted a
   * mail by then, another process retries the mail after its lease. Never rejects.
   */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    const timeout = new Promise((resolve) => setTimeout(resolve, STOP_PATIENCE_MS).unref());
    await Promise.race([this.round, timeout]);
  }

  /** Sends the due mails of one round. Does nothing without a mail server. Rejects with the database's error. */
  async sendDue(): Promise<void> {
    const mailer = this.parts.mailer();
    if (mailer === null) return;
    for (let claims = 0; claims < CLAIMS_PER_ROUND && !this.isStopped; claims++) {
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
    // Don't log the address or the server's text, because both may name people.
    const fields = { mail_id: id, link_id: linkId, code, tries };
    if (isFinal || tries >= MAX_TRIES) {
      await outbox.markFailed(id, code);
      METRICS.mails.series('failed').inc();
      log.error(
        { event: 'mail_failed', ...fields },
        'Mail delivery failed permanently: if the mail has a link, send it again or hand it over',
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
