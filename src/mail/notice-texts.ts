/**
 * Texts of notices about changed sign-in methods. Notices are sent by mail, so that the member learns of a change by an
 * intruder in the panel.
 */
import type { MailLocale, MailText } from './message-texts.js';

export type SignInChangeKind =
  | 'totp_added'
  | 'totp_removed'
  | 'recovery_codes_replaced'
  | 'passkey_added'
  | 'passkey_removed'
  | 'password_changed'
  | 'sign_in_reset';

/** RemovedFactor is a sign-in method that a reset has removed. */
export interface RemovedFactor {
  readonly type: 'passkey' | 'identity';
  /** Name of the passkey. For an identity, its email address, or the issuer's host if the address is unknown. */
  readonly name: string;
}

/** SignInChange is the data of a notice, as the mail queue stores it. `atMs` is in milliseconds since the epoch. */
export interface SignInChange {
  readonly change: SignInChangeKind;
  readonly by: 'member' | 'operator';
  /** Name of the added or removed passkey. */
  readonly name?: string;
  /** Sign-in methods that the same change removed. */
  readonly removed?: readonly RemovedFactor[];
  readonly atMs: number;
}

/** RenderedChange is the data of a notice with sanitized names and a formatted time. */
interface RenderedChange {
  readonly change: SignInChangeKind;
  readonly by: 'member' | 'operator';
  readonly name: string;
  readonly removed: readonly RemovedFactor[];
  readonly email: string;
  readonly at: string;
  /** URL of the member's sign-in settings in the panel. */
  readonly link: string;
}

type ChangeTexts = Readonly<Record<SignInChangeKind, (name: string) => readonly [subject: string, sentence: string]>>;

const ENGLISH: ChangeTexts = {
  totp_added: () => ['An authenticator app was added', 'An authenticator app was added'],
  totp_removed: () => [
    'Your authenticator app was removed',
    'The authenticator app and the recovery codes were removed',
  ],
  recovery_codes_replaced: () => [
    'Your recovery codes were replaced',
    'New recovery codes were created, and the old ones no longer work',
  ],
  passkey_added: (name) => ['A passkey was added', `The passkey “${name}” was added`],
  passkey_removed: (name) => ['A passkey was removed', `The passkey “${name}” was removed`],
  password_changed: () => ['Your password was changed', 'The password was changed, and all other sessions have ended'],
  sign_in_reset: () => [
    'Your sign-in was reset',
    'The sign-in was reset with a link, and all other sessions have ended',
  ],
};

const SPANISH: ChangeTexts = {
  totp_added: () => ['Se ha añadido una aplicación de autenticación', 'Se ha añadido una aplicación de autenticación'],
  totp_removed: () => [
    'Se ha quitado su aplicación de autenticación',
    'Se han quitado la aplicación de autenticación y los códigos de recuperación',
  ],
  recovery_codes_replaced: () => [
    'Se han sustituido sus códigos de recuperación',
    'Se han creado códigos de recuperación nuevos y los anteriores ya no sirven',
  ],
  passkey_added: (name) => ['Se ha añadido una llave de acceso', `Se ha añadido la llave de acceso «${name}»`],
  passkey_removed: (name) => ['Se ha quitado una llave de acceso', `Se ha quitado la llave de acceso «${name}»`],
  password_changed: () => [
    'Se ha cambiado su contraseña',
    'Se ha cambiado la contraseña y se han cerrado todas las demás sesiones',
  ],
  sign_in_reset: () => [
    'Se ha restablecido su acceso',
    'Se ha restablecido el acceso con un enlace y se han cerrado todas las demás sesiones',
  ],
};

/** Maximum number of removed methods that a notice names. The notice only counts further methods. */
const MAX_NAMED = 20;

/** Returns one paragraph that lists the removed methods, or no paragraph if nothing was removed. */
function removedParagraph(
  removed: readonly RemovedFactor[],
  start: string,
  words: Readonly<Record<RemovedFactor['type'], (name: string) => string>>,
): string[] {
  if (removed.length === 0) return [];
  const named = removed.slice(0, MAX_NAMED).map(({ type, name }) => words[type](name));
  const more = removed.length - named.length;
  return [`${start} ${[...named, ...(more > 0 ? [`+${more}`] : [])].join(', ')}.`];
}

export const NOTICE_TEXTS: Readonly<Record<MailLocale, (change: RenderedChange) => MailText>> = {
  en: ({ change, by, name, removed, email, at, link }) => {
    const [subject, sentence] = ENGLISH[change](name);
    return {
      subject,
      paragraphs: [
        'Hello,',
        `${sentence}, for the sign-in of ${email}, on ${at}${by === 'operator' ? ', by an operator' : ''}.`,
        ...removedParagraph(removed, 'Removed with it:', {
          passkey: (each) => `the passkey “${each}”`,
          identity: (each) => `the linked sign-in ${each}`,
        }),
        'If you did this or asked for it, there is nothing to do.',
        'If not, someone else may be signed in as you. Choose a new password and sign out of all other sessions:',
        link,
        'If you can no longer sign in, contact an operator of this installation.',
      ],
    };
  },
  es: ({ change, by, name, removed, email, at, link }) => {
    const [subject, sentence] = SPANISH[change](name);
    return {
      subject,
      paragraphs: [
        'Hola:',
        `${sentence}, para el acceso de ${email}, el ${at}${by === 'operator' ? ', por un operador' : ''}.`,
        ...removedParagraph(removed, 'También se ha quitado:', {
          passkey: (each) => `la llave de acceso «${each}»`,
          identity: (each) => `el acceso vinculado ${each}`,
        }),
        'Si lo ha hecho usted o lo ha pedido, no tiene que hacer nada.',
        'Si no, puede que otra persona haya entrado en su nombre. Elija otra contraseña y cierre las demás sesiones:',
        link,
        'Si ya no puede entrar, avise a quien administra esta instalación.',
      ],
    };
  },
};
