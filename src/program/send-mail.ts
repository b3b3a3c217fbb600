/** The worker's part in mail: what waits is sent by the server that the configuration names. */
import { adminUrlOf } from '../config/model/admin-url.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { MailSender } from '../mail/mail-sender.js';
import type { MailContent } from '../mail/messages.js';
import { SmtpMailer } from '../mail/mailer.js';
import { renewLinkToken } from '../members/links/link-renewal.js';
import { systemClock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import type { Domain } from './open-domain.js';
import type { Shutdown } from './shutdown.js';

/** Begins to send; a changed `admin.mail` is used from the next mail on. */
export function sendMail({ config, database }: Domain, log: Log, shutdown: Shutdown): void {
  const settings = () => config.current.file.admin;
  const sender = new MailSender({
    outbox: new MailOutbox(database.db, systemClock),
    mailer: () => {
      const { mail } = settings();
      return mail === undefined ? null : new SmtpMailer(mail);
    },
    renewLink: async (linkId) => {
      const token = await renewLinkToken(database.db, linkId, systemClock.now());
      return token === undefined ? undefined : `${adminUrlOf(settings())}/link#${token}`;
    },
    noticeUrl: (content) => `${adminUrlOf(settings())}/${noticePath(content)}`,
    log: log.logger,
  });
  sender.start();
  shutdown.add('stop mail', () => sender.stop());
}

/** The page of the panel that shows what a notice tells. */
function noticePath(content: MailContent): string {
  return content.kind === 'webhook_disabled' ? `${content.accountId}/webhooks/${content.endpointId}` : 'profile';
}
