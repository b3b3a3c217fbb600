/** Numbers as people type them. */

/** Spaces of every kind, which people and spreadsheets put between groups of digits. */
const SPACES = /[\s\u00a0\u202f]/g;
const NUMBER = /^[-+]?\d+(?:\.\d+)?$/;
/** `10,000` in English, `10.000` in Spanish. */
const GROUPED = { en: /^[-+]?\d{1,3}(?:,\d{3})+$/, es: /^[-+]?\d{1,3}(?:\.\d{3})+$/ } as const;

/** The number that a text stands for; undefined where it is empty, NaN where it is none. */
export function numberOf(text: string, locale = 'en'): number | undefined {
  const plain = text.replaceAll(SPACES, '');
  if (plain === '') return undefined;
  if (GROUPED[locale === 'es' ? 'es' : 'en'].test(plain)) return Number(plain.replaceAll(/[.,]/g, ''));
  const point = locale === 'es' ? plain.replace(',', '.') : plain;
  return NUMBER.test(point) ? Number(point) : NaN;
}
