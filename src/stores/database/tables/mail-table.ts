/** Defines the row type of the table of queued mails. */

/**
 * MailTable has queued emails. An email either contains a single-use link, or is a notice without a link. The token of
 * the link is created when the email is sent.
 */
export interface MailTable {
  /** `eml_…` */
  id: string;
  /** `link.id`. Deleting the link deletes the mail. Null for a notice, which is deleted after it was sent. */
  link_id: string | null;
  to_name: string;
  to_address: string;
  locale: 'en' | 'es';
  /** JSON with the kind of mail and the values in its text. */
  content: string;
  state: 'waiting' | 'sent' | 'failed';
  tries: number;
  next_at: number;
  /** Error code of the last failed attempt. */
  error: string | null;
  created_at: number;
  sent_at: number | null;
}
