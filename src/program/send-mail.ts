/** Sends queued mail in the worker role. */
import { adminUrlOf } from '../config/model/admin-url.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { MailSender } from '../mail/mail-sender.js';
import type { MailContent } from '../mail/messages.js';
import { SmtpMailer } from '../mail/mailer.js';
import { renewLinkToken } from '../members/links/link-renewal.js';
import type { Modules } from './modules.js';

/**
 * Starts sending queued mail. Without `admin.mail`, mail stays queued. Changes of `admin.mail` apply to mail that is
 * sent later.
 */
export function sendMail({ config, database, clock, log, shutdown }: Modules): void {
  const settings = () => config.current.file.admin;
  const sender = new MailSender({
    outbox: new MailOutbox(database.db, clock),
    mailer: () => {
      const { mail } = settings();
      return mail === undefined ? null : new SmtpMailer(mail);
    },
    renewLink: async (linkId) => {
      const token = await renewLinkToken(database.db, linkId, clock.now());
      return token === undefined ? undefined : `${adminUrlOf(settings())}/link#${token}`;
    },
    noticeUrl: (content) => `${adminUrlOf(settings())}/${noticePath(content)}`,
    log: log.logger,
  });
  sender.start();
  shutdown.add('stop mail', () => sender.stop());
}

/** Returns the path of the panel page that a notice links to. */
function noticePath(content: MailContent): string {
  return content.kind === 'webhook_disabled' ? `${content.accountId}/webhooks/${content.endpointId}` : 'profile';
}
