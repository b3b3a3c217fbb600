/** Texts of mails in all languages of the panel. Plain text, so that nothing is loaded and links are visible. */

export type MailLocale = 'en' | 'es';

export interface InvitationData {
  readonly accountName: string;
  /** Name or address of the person who invites. */
  readonly invitedBy: string;
  readonly role: 'owner' | 'admin' | 'viewer';
}

export interface MailText {
  readonly subject: string;
  readonly paragraphs: readonly string[];
}

interface Texts {
  readonly invitation: (data: InvitationData, link: string, ends: string) => MailText;
  readonly password_reset: (link: string, ends: string) => MailText;
  readonly email_verification: (link: string, ends: string) => MailText;
}

const ROLES = {
  en: { owner: 'owner', admin: 'administrator', viewer: 'viewer' },
  es: { owner: 'propietario', admin: 'administrador', viewer: 'lector' },
} as const;

export const MESSAGE_TEXTS: Readonly<Record<MailLocale, Texts>> = {
  en: {
    invitation: ({ accountName, invitedBy, role }, link, ends) => ({
      subject: `You are invited to ${accountName}`,
      paragraphs: [
        'Hello,',
        `${invitedBy} invites you to the account ${accountName} as ${ROLES.en[role]}. Open this link to accept:`,
        link,
        `It works once, until ${ends}.`,
        'If you did not expect this, do nothing: without the link nobody gets access in your name.',
      ],
    }),
    password_reset: (link, ends) => ({
      subject: 'Choose a new password',
      paragraphs: [
        'Hello,',
        'Somebody asked for a new password for your sign-in. If it was you, open this link:',
        link,
        `It works once, until ${ends}.`,
        'If it was not you, do nothing: your password stays as it is.',
      ],
    }),
    email_verification: (link, ends) => ({
      subject: 'Verify your email address',
      paragraphs: [
        'Hello,',
        'A member with this address asked to verify it. If it was you, sign in and open this link:',
        link,
        `It works once, until ${ends}.`,
        'If it was not you, do nothing: the address stays unverified.',
      ],
    }),
  },
  es: {
    invitation: ({ accountName, invitedBy, role }, link, ends) => ({
      subject: `Le invitan a ${accountName}`,
      paragraphs: [
        'Hola:',
        `${invitedBy} le invita a la cuenta ${accountName} como ${ROLES.es[role]}. Abra este enlace para aceptar:`,
        link,
        `Funciona una sola vez, hasta el ${ends}.`,
        'Si no esperaba este mensaje, no haga nada: sin el enlace nadie obtiene acceso en su nombre.',
      ],
    }),
    password_reset: (link, ends) => ({
      subject: 'Elija una contraseña nueva',
      paragraphs: [
        'Hola:',
        'Alguien ha pedido una contraseña nueva para su acceso. Si ha sido usted, abra este enlace:',
        link,
        `Funciona una sola vez, hasta el ${ends}.`,
        'Si no ha sido usted, no haga nada: su contraseña sigue siendo la misma.',
      ],
    }),
    email_verification: (link, ends) => ({
      subject: 'Verifique su correo electrónico',
      paragraphs: [
        'Hola:',
        'Un miembro con esta dirección ha pedido verificarla. Si ha sido usted, inicie sesión y abra este enlace:',
        link,
        `Funciona una sola vez, hasta el ${ends}.`,
        'Si no ha sido usted, no haga nada: la dirección sigue sin verificar.',
      ],
    }),
  },
};
