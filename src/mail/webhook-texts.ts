/** The text of the mail that tells the owners of an account that one of its webhook endpoints was disabled. */
import type { MailLocale, MailText } from './message-texts.js';

/** An endpoint that was disabled, as it waits to be told. */
export interface WebhookDisabled {
  readonly accountId: string;
  readonly accountName: string;
  readonly endpointId: string;
  /** Of its URL: the rest may hold a token. */
  readonly host: string;
  readonly reason: 'failing' | 'gone';
}

/** It, in words of a language, with the names of others tamed. */
interface Told extends WebhookDisabled {
  /** Where the endpoint is shown. */
  readonly link: string;
}

export const WEBHOOK_TEXTS: Readonly<Record<MailLocale, (told: Told) => MailText>> = {
  en: ({ accountName, host, reason, link }) => ({
    subject: 'A webhook endpoint was disabled',
    paragraphs: [
      'Hello,',
      reason === 'gone'
        ? `The webhook endpoint of ${accountName} at ${host} has responded with 410 (gone), and was disabled.`
        : `Nothing has arrived at the webhook endpoint of ${accountName} at ${host} for five days: it was disabled.`,
      'Its events are kept for 30 days. Enable it again when its receiver works, and they are delivered:',
      link,
      'If it is not needed any more, delete it there.',
    ],
  }),
  es: ({ accountName, host, reason, link }) => ({
    subject: 'Se ha desactivado un destino de webhooks',
    paragraphs: [
      'Hola:',
      reason === 'gone'
        ? `El destino de webhooks de ${accountName} en ${host} ha respondido con 410 (no existe) y se ha desactivado.`
        : `Al destino de webhooks de ${accountName} en ${host} no ha llegado nada en cinco días: se ha desactivado.`,
      'Sus eventos se guardan 30 días. Cuando el receptor funcione, vuelva a activarlo y se entregarán:',
      link,
      'Si ya no lo necesita, elimínelo ahí.',
    ],
  }),
};
