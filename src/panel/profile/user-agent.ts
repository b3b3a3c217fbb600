/** Describes a User-Agent: `Firefox on Windows`. */
import { useLingui } from '@lingui/react/macro';

/** Order matters: most browsers also name older ones. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Headless)?Chrom(?:e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/\S+ (?:Mobile\/\S+ )?Safari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'Mac'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const found = (table: typeof BROWSERS, text: string): string | undefined =>
  table.find(([pattern]) => pattern.test(text))?.[1];

/** Returns a function that describes a User-Agent. */
export function useProgramWords(): (userAgent: string) => string {
  const { t } = useLingui();
  return (userAgent) => {
    const [browser, system] = [found(BROWSERS, userAgent), found(SYSTEMS, userAgent)];
    if (browser !== undefined && system !== undefined) return t`${browser} on ${system}`;
    return browser ?? system ?? t`An unknown program`;
  };
}
