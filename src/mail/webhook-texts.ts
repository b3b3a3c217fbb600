/** Texts of the mail that informs account owners that the gateway has disabled a webhook endpoint. */
import type { MailLocale, MailText } from './message-texts.js';

/** WebhookDisabled is the data of the mail, as the mail queue stores it. */
export interface WebhookDisabled {
  readonly accountId: string;
  readonly accountName: string;
  readonly endpointId: string;
  /** Host of the endpoint's URL. The mail omits the rest of the URL, which may contain a token. */
  readonly host: string;
  readonly reason: 'failing' | 'gone';
}

/** RenderedWebhookDisabled is the data of the mail with sanitized names. */
interface RenderedWebhookDisabled extends WebhookDisabled {
  /** URL of the endpoint's page in the panel. */
  readonly link: string;
}

export const WEBHOOK_TEXTS: Readonly<Record<MailLocale, (data: RenderedWebhookDisabled) => MailText>> = {
  en: ({ accountName, host, reason, link }) => ({
    subject: 'A webhook endpoint was disabled',
    paragraphs: [
      'Hello,',
      reason === 'gone'
        ? `The webhook endpoint of ${accountName} at ${host} responded with 410 (gone) and was disabled.`
        : `The webhook endpoint of ${accountName} at ${host} was disabled after five days without a successful delivery.`,
      'Its events are kept for 30 days. Resume it once its receiver works, and they are delivered:',
      link,
      'If you no longer need it, delete it there.',
    ],
  }),
  es: ({ accountName, host, reason, link }) => ({
    subject: 'Se ha desactivado un endpoint de webhooks',
    paragraphs: [
      'Hola:',
      reason === 'gone'
        ? `El endpoint de webhooks de ${accountName} en ${host} ha respondido con 410 (no existe) y se ha desactivado.`
        : `El endpoint de webhooks de ${accountName} en ${host} se ha desactivado tras cinco días sin entregas correctas.`,
      'Sus eventos se guardan 30 días. Cuando el receptor funcione, reanúdelo y se entregarán:',
      link,
      'Si ya no lo necesita, elimínelo ahí.',
    ],
  }),
};
