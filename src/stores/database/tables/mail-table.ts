/** Table of mails that are queued for sending. */

/** A mail with a single-use link, or a notice without one. The link's token is created when the mail is sent. */
export interface MailTable {
  /** `eml_…` */
  id: string;
  /** `link.id`. Deleting the link deletes the mail. Null for a notice, which is deleted after it was sent. */
  link_id: string | null;
  to_name: string;
  to_address: string;
  locale: 'en' | 'es';
  /** JSON: kind of mail and the values of its text. */
  content: string;
  state: 'waiting' | 'sent' | 'failed';
  tries: number;
  next_at: number;
  /** Error code of the last failure. */
  error: string | null;
  created_at: number;
  sent_at: number | null;
}
