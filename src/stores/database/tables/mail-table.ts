/** The table of mails that wait to be sent. */

/**
 * A mail with a link for one use, or a notice without one. The link's token is not in it: it is made when the mail is
 * sent.
 */
export interface MailTable {
  /** `eml_…` */
  id: string;
  /** `link.id`; when the link is forgotten, so is its mail. Null for a notice, which is forgotten once it is sent. */
  link_id: string | null;
  to_name: string;
  to_address: string;
  locale: 'en' | 'es';
  /** JSON: kind, and what its text names. */
  content: string;
  state: 'waiting' | 'sent' | 'failed';
  tries: number;
  /** When the next try is due. */
  next_at: number;
  /** Code of the last failure. */
  error: string | null;
  created_at: number;
  sent_at: number | null;
}
