/** Translates the reasons for which the API rejects a field. The patterns must match the English texts of the API. */
import { useLingui } from '@lingui/react/macro';
import type { RefusedField } from '../api/problem.js';

/** Returns the translated text of a reason. The arguments are the groups that its pattern captured. */
type Words = (...found: string[]) => string;

/**
 * Returns a function that translates a reason. That function returns an unknown reason as the API sent it, in English.
 */
export function useReasonText(): (refused: Pick<RefusedField, 'detail'>) => string {
  const { t } = useLingui();
  const known: readonly (readonly [pattern: RegExp, words: Words])[] = [
    [/^(?:must not be empty|is missing|must be given)$/, () => t`Fill this in.`],
    [/^must (?:have|be) at most (\d+) (?:characters|bytes)/, (most) => t`Use at most ${most} characters.`],
    [/^must (?:have|be) at least (\d+) characters/, (least) => t`Use at least ${least} characters.`],
    [
      /^must not contain control characters/,
      () => t`Remove tabs, line breaks and characters that change the direction of text.`,
    ],
    [/lone surrogate/, () => t`Remove the characters that cannot be displayed.`],
    [
      /^must be at most (\d+) days (?:after|away|from now)/,
      (days) => t`Choose an earlier day. At most ${days} days are allowed.`,
    ],
    [/^must have a character that can be seen$/, () => t`Use at least one visible character.`],
    [/^must (?:be|have) at least (-?[\d.]+)(?:, not|$)/, (least) => t`Enter ${least} or more.`],
    [/^must be at most (-?[\d.]+)(?:, |$)/, (most) => t`Enter ${most} or less.`],
    [/^must be a whole number/, () => t`Enter a whole number.`],
    [/^must not be negative$/, () => t`Enter 0 or more.`],
    [/^must be a valid email$/, () => t`Enter an email address, such as name@example.com.`],
    [
      /^must be an address or a block|^must be a valid (?:ipv|cidrv)/,
      () => t`Enter addresses such as 203.0.113.7, or blocks such as 203.0.113.0/24.`,
    ],
    [/^must be in the future$/, () => t`Choose a future date.`],
    [/^must name at least one scope$|^must not be an empty list$/, () => t`Choose at least one.`],
    [/is not a scope of any operation$/, () => t`Choose only permissions that are listed.`],
    [
      /was not granted when the client was authorized|^was not requested by the client$/,
      () => t`Choose only permissions that the assistant was given.`,
    ],
    [/^must be an IANA time zone/, () => t`Choose a time zone from the list.`],
    [
      /^is not the code that the app shows now$/,
      () => t`That code isn't valid. Check that your phone's clock is correct.`,
    ],
    [/^must be an address$/, () => t`Enter an IP address, such as 203.0.113.7.`],
    [/^must be a time such as/, () => t`Enter a valid date.`],
    [/^covers more than/, () => t`These are too many at once. Choose a shorter time.`],
    [
      /^must not repeat a few characters$|^is too easy to guess/,
      () => t`Too easy to guess. Avoid your name, email or keyboard patterns.`,
    ],
  ];
  return ({ detail }) => {
    for (const [pattern, words] of known) {
      const found = pattern.exec(detail);
      if (found !== null) return words(...found.slice(1));
    }
    return detail;
  };
}
