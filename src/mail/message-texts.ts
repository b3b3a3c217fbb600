/**
 * Texts of mails with a single-use link, in all languages of the panel. The texts are plain text, so that mail programs
 * load no remote content and readers see the link's URL.
 */

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
        `${invitedBy} invited you to join the account ${accountName} as ${ROLES.en[role]}. Open this link to accept:`,
        link,
        `It works once, until ${ends}.`,
        'If you did not expect this invitation, ignore this email. Without the link, no one gets access in your name.',
      ],
    }),
    password_reset: (link, ends) => ({
      subject: 'Choose a new password',
      paragraphs: [
        'Hello,',
        'Someone asked to reset your password. If it was you, open this link:',
        link,
        `It works once, until ${ends}.`,
        'If it was not you, ignore this email. Your password stays the same.',
      ],
    }),
    email_verification: (link, ends) => ({
      subject: 'Verify your email address',
      paragraphs: [
        'Hello,',
        'A member with this address asked to verify it. If it was you, sign in and open this link:',
        link,
        `It works once, until ${ends}.`,
        'If it was not you, ignore this email. The address stays unverified.',
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
        'Si no esperaba esta invitación, ignore este correo. Sin el enlace, nadie obtiene acceso en su nombre.',
      ],
    }),
    password_reset: (link, ends) => ({
      subject: 'Elija una contraseña nueva',
      paragraphs: [
        'Hola:',
        'Alguien ha pedido restablecer su contraseña. Si ha sido usted, abra este enlace:',
        link,
        `Funciona una sola vez, hasta el ${ends}.`,
        'Si no ha sido usted, ignore este correo. Su contraseña no cambia.',
      ],
    }),
    email_verification: (link, ends) => ({
      subject: 'Verifique su correo electrónico',
      paragraphs: [
        'Hola:',
        'Un miembro con esta dirección ha pedido verificarla. Si ha sido usted, inicie sesión y abra este enlace:',
        link,
        `Funciona una sola vez, hasta el ${ends}.`,
        'Si no ha sido usted, ignore este correo. La dirección sigue sin verificar.',
      ],
    }),
  },
};
