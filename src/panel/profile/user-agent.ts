/** Describes the browser and system of a session by the User-Agent header, such as `Firefox on Windows`. */
import { useLingui } from '@lingui/react/macro';

/** Patterns and names of browsers. The order matters, because most browsers also send the names of other browsers. */
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

const firstMatch = (table: typeof BROWSERS, text: string): string | undefined =>
  table.find(([pattern]) => pattern.test(text))?.[1];

/**
 * Returns a function that describes a User-Agent header. If browser and system are unknown, that function returns `An
 * unknown program`, translated.
 */
export function useUserAgentLabel(): (userAgent: string) => string {
  const { t } = useLingui();
  return (userAgent) => {
    const [browser, system] = [firstMatch(BROWSERS, userAgent), firstMatch(SYSTEMS, userAgent)];
    if (browser !== undefined && system !== undefined) return t`${browser} on ${system}`;
    return browser ?? system ?? t`An unknown program`;
  };
}
