/**
 * Chooses, stores and activates the language of the page. Before sign-in, the choice stored in this browser applies, or
 * else the browser's language. After sign-in, the language in the member's profile has precedence.
 */
import { i18n } from '@lingui/core';

/** Supported languages. */
export const LOCALES = ['en', 'es'] as const;
export type Locale = (typeof LOCALES)[number];

/** Name of each language, in the language itself. */
export const LANGUAGES = { en: 'English', es: 'Español' } as const satisfies Record<Locale, string>;

/** Key of the user's choice in local storage. */
const STORAGE_KEY = 'trailgate-locale';

const isLocale = (text: unknown): text is Locale => (LOCALES as readonly unknown[]).includes(text);

/** Loads the texts of a language and shows the page in that language. */
export async function activateLocale(locale: Locale): Promise<void> {
  const { messages } = locale === 'es' ? await import('../locales/es.po') : await import('../locales/en.po');
  // Numbers and dates use the browser's regional variant of the language, such as es-MX.
  const regional = navigator.languages.find((language) => language.split('-')[0] === locale);
  i18n.loadAndActivate({ locale, locales: regional === undefined ? locale : [regional, locale], messages });
  document.documentElement.lang = locale;
}

/** Stores the user's choice in this browser and shows the page in that language. */
export async function storeLocale(locale: Locale): Promise<void> {
  try {
    localStorage.setItem(STORAGE_KEY, locale);
  } catch {
    // Without storage, the choice lasts until the page is loaded again.
  }
  await activateLocale(locale);
}

/** Removes the user's choice from this browser. */
export function clearStoredLocale(): void {
  try {
    localStorage.removeItem(STORAGE_KEY);
  } catch {
    // Without storage there is nothing to remove.
  }
}

/**
 * Returns the language before sign-in: the stored choice, or else the first supported language of the browser. English
 * if the browser has none.
 */
export function firstLocale(): Locale {
  try {
    const chosen = localStorage.getItem(STORAGE_KEY);
    if (isLocale(chosen)) return chosen;
  } catch {
    // Without storage, use the browser's language.
  }
  return navigator.languages.map((language) => language.split('-')[0]).find(isLocale) ?? 'en';
}
