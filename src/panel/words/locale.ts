/** Language of the page: the member's, else the stored choice, else the browser's first supported language. */
import { i18n } from '@lingui/core';

/** Supported languages. */
export const LOCALES = ['en', 'es'] as const;
export type Locale = (typeof LOCALES)[number];

/** Names of the languages in their own language. */
export const LANGUAGES = { en: 'English', es: 'Español' } as const satisfies Record<Locale, string>;

const CHOSEN = 'trailgate-locale';

const isLocale = (text: unknown): text is Locale => (LOCALES as readonly unknown[]).includes(text);

/** Loads the catalogue of a language and activates it. */
export async function activateLocale(locale: Locale): Promise<void> {
  const { messages } = locale === 'es' ? await import('../locales/es.po') : await import('../locales/en.po');
  // Numbers and dates follow the browser's region of the language, such as es-MX.
  const regional = navigator.languages.find((language) => language.split('-')[0] === locale);
  i18n.loadAndActivate({ locale, locales: regional === undefined ? locale : [regional, locale], messages });
  document.documentElement.lang = locale;
}

/** Stores the choice in this browser and activates it. */
export async function storeLocale(locale: Locale): Promise<void> {
  try {
    localStorage.setItem(CHOSEN, locale);
  } catch {
    // Without storage, the choice lasts until the next load.
  }
  await activateLocale(locale);
}

/** Removes the stored choice. */
export function clearStoredLocale(): void {
  try {
    localStorage.removeItem(CHOSEN);
  } catch {
    // Without storage there is nothing to remove.
  }
}

/** Returns the initial language. */
export function firstLocale(): Locale {
  try {
    const chosen = localStorage.getItem(CHOSEN);
    if (isLocale(chosen)) return chosen;
  } catch {
    // Without storage: use the browser's language.
  }
  return navigator.languages.map((language) => language.split('-')[0]).find(isLocale) ?? 'en';
}
