/** The language of the page: the member's, else what was chosen here, else the browser's first that we have. */
import { i18n } from '@lingui/core';

/** Languages that the panel speaks. */
export const LOCALES = ['en', 'es'] as const;
export type Locale = (typeof LOCALES)[number];

/** Each in its own words, so that whoever does not read the other finds it. */
export const LANGUAGES = { en: 'English', es: 'Español' } as const satisfies Record<Locale, string>;

const CHOSEN = 'trailgate-locale';

const isLocale = (text: unknown): text is Locale => (LOCALES as readonly unknown[]).includes(text);

/** Loads the words of a language, and turns the page to it. */
export async function speak(locale: Locale): Promise<void> {
  const { messages } = locale === 'es' ? await import('../locales/es.po') : await import('../locales/en.po');
  // Numbers and dates follow the region where the browser names one of the language, such as es-MX.
  const regional = navigator.languages.find((language) => language.split('-')[0] === locale);
  i18n.loadAndActivate({ locale, locales: regional === undefined ? locale : [regional, locale], messages });
  document.documentElement.lang = locale;
}

/** Remembers what was chosen in this browser, and turns to it. */
export async function choose(locale: Locale): Promise<void> {
  try {
    localStorage.setItem(CHOSEN, locale);
  } catch {
    // No storage: until the page is loaded again.
  }
  await speak(locale);
}

/** Forgets what was chosen in this browser. */
export function chooseNone(): void {
  try {
    localStorage.removeItem(CHOSEN);
  } catch {
    // No storage: nothing was remembered.
  }
}

/** The language to begin with. */
export function firstLocale(): Locale {
  try {
    const chosen = localStorage.getItem(CHOSEN);
    if (isLocale(chosen)) return chosen;
  } catch {
    // No storage: as the browser has it.
  }
  return navigator.languages.map((language) => language.split('-')[0]).find(isLocale) ?? 'en';
}
