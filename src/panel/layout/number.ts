/** Parses numbers as people type them in English or Spanish, with thousands separators and spaces. */

/** Spaces that people and spreadsheets use between groups of digits. */
const SPACES = /[\s\u00a0\u202f]/g;
const NUMBER = /^[-+]?\d+(?:\.\d+)?$/;
/** Numbers with thousands separators: `10,000` in English, `10.000` in Spanish. */
const GROUPED = { en: /^[-+]?\d{1,3}(?:,\d{3})+$/, es: /^[-+]?\d{1,3}(?:\.\d{3})+$/ } as const;

/** Returns the number in a text. Undefined if the text is empty, NaN if the text is not a number. */
export function numberOf(text: string, locale = 'en'): number | undefined {
  const plain = text.replaceAll(SPACES, '');
  if (plain === '') return undefined;
  if (GROUPED[locale === 'es' ? 'es' : 'en'].test(plain)) return Number(plain.replaceAll(/[.,]/g, ''));
  const point = locale === 'es' ? plain.replace(',', '.') : plain;
  return NUMBER.test(point) ? Number(point) : NaN;
}
