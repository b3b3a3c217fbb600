/**
 * Checks new passwords (NIST SP 800-63B-4, 3.1.1.2). A password needs a minimum length, and must not be easy to guess.
 */

/** Minimum length in characters if the password is the only factor. */
export const SHORTEST_PASSWORD = 15;
/** Minimum length in characters with a second factor. */
export const SHORTEST_WITH_SECOND_FACTOR = 8;
/** Maximum length in UTF-16 code units. The maximum limits the work of hashing, which anyone can cause. */
export const LONGEST_PASSWORD = 200;

/** Minimum length of guessable parts. Shorter parts occur in many good passwords, so `passwordFault` ignores them. */
const SHORTEST_PART = 4;
/** Minimum number of distinct characters in a password, against `aaaaaaaaaaaaaaa` and `abababababababa`. */
const FEWEST_CHARACTERS = 5;
/** Rows of QWERTY, QWERTZ and AZERTY keyboards, and the columns of QWERTY. */
const KEY_ROWS = ['qwertyuiop', 'qwertzuiop', 'azertyuiop', 'asdfghjkl', 'zxcvbnm', 'yxcvbnm', 'qazwsxedcrfvtgbyhnujm'];
const RUNS = [...KEY_ROWS, 'abcdefghijklmnopqrstuvwxyz', '01234567890123456789'];
/** Sequences on keyboards, in the alphabet and of digits, in both directions. */
const SEQUENCES = RUNS.flatMap((run) => [run, [...run].toReversed().join('')]);
/** Words that leaked passwords often contain. */
const WORDS = [
  'password',
  'passwort',
  'contraseña',
  'motdepasse',
  'iloveyou',
  'letmein',
  'welcome',
  'dragon',
  'monkey',
];

/**
 * PasswordContext describes the member. A password must not consist of the email address, the name or the host.
 * `hasSecondFactor` allows a shorter password.
 */
export interface PasswordContext {
  readonly email: string;
  readonly name: string;
  /** Host name of the panel. */
  readonly host: string;
  readonly hasSecondFactor: boolean;
}

/**
 * Returns what is wrong with a new password, as the end of a sentence that starts with "The password". Returns null if
 * the password is acceptable.
 */
export function passwordFault(password: string, context: PasswordContext): string | null {
  const shortest = context.hasSecondFactor ? SHORTEST_WITH_SECOND_FACTOR : SHORTEST_PASSWORD;
  const normal = password.normalize('NFKC');
  if ([...normal].length < shortest) return `must have at least ${shortest} characters`;
  if (password.length > LONGEST_PASSWORD) return `must have at most ${LONGEST_PASSWORD} characters`;
  const plain = normal.toLowerCase();
  if (new Set(plain).size < FEWEST_CHARACTERS) return 'must not repeat a few characters';
  // At least half of the minimum length must remain after the removal of guessable parts.
  const rest = without(plain, [...ownParts(context), ...WORDS, ...sequencesIn(plain)]);
  if (rest.length * 2 >= shortest) return null;
  return 'is too easy to guess: avoid your name, email address, the product name and keyboard patterns';
}

/**
 * Returns the guessable parts: the words of the member's name, address and host, and the product name, in lower case.
 */
function ownParts({ email, name, host }: PasswordContext): string[] {
  const parts = [email, name, host, 'trailgate'].flatMap((text) => {
    const plain = text.normalize('NFKC').toLowerCase();
    return [plain, ...plain.split(/[^\p{L}\p{N}]+/u)];
  });
  return parts.filter((part) => part.length >= SHORTEST_PART);
}

/** Finds runs of at least four neighboring keys, consecutive letters or consecutive digits. */
function sequencesIn(plain: string): string[] {
  const found: string[] = [];
  for (let from = 0; from + SHORTEST_PART <= plain.length; from++) {
    const length = sequenceLength(plain.slice(from));
    if (length >= SHORTEST_PART) found.push(plain.slice(from, from + length));
  }
  return found;
}

/** Returns the length of the longest run at the start of a text. */
function sequenceLength(text: string): number {
  let length = 0;
  while (length < text.length && SEQUENCES.some((run) => run.includes(text.slice(0, length + 1)))) length++;
  return length;
}

/** Removes the parts from a text, longest first. If the rest is one repeated part, returns that part once. */
function without(plain: string, parts: readonly string[]): string {
  const longestFirst = parts.toSorted((one, other) => other.length - one.length);
  const rest = longestFirst.reduce((text, part) => text.replaceAll(part, ''), plain);
  return rest.replace(/^(.+?)\1+$/u, '$1');
}
