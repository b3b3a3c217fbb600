/** What a new password must be (NIST SP 800-63B-4, 3.1.1.2): long, and not what anybody would try first. */

/** Where a password is the only factor. */
export const SHORTEST_PASSWORD = 15;
/** Where a second factor stands beside it. */
export const SHORTEST_WITH_SECOND_FACTOR = 8;
/** In characters of UTF-16; a hash of a longer one would be work that anybody could ask for. */
export const LONGEST_PASSWORD = 200;

/** Shorter parts of a name stand in too many good passwords. */
const SHORTEST_PART = 4;
/** Different characters of a password; `aaaaaaaaaaaaaaa` and `abababababababa` are rows, not passwords. */
const FEWEST_CHARACTERS = 5;
/** How people go along a keyboard, an alphabet or a list of numbers, either way. */
const ROWS = ['qwertyuiop', 'qwertzuiop', 'azertyuiop', 'asdfghjkl', 'zxcvbnm', 'yxcvbnm', 'qazwsxedcrfvtgbyhnujm'];
const RUNS = [...ROWS, 'abcdefghijklmnopqrstuvwxyz', '01234567890123456789'];
const SEQUENCES = RUNS.flatMap((run) => [run, [...run].toReversed().join('')]);
/** What lists of stolen passwords begin with, whatever stands around it. */
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

/** PasswordContext is what a password must not be made of. */
export interface PasswordContext {
  readonly email: string;
  readonly name: string;
  /** The host of the panel. */
  readonly host: string;
  readonly hasSecondFactor: boolean;
}

/** Says what is wrong with a new password, in a sentence for a form; null where nothing is. */
export function passwordFault(password: string, context: PasswordContext): string | null {
  const shortest = context.hasSecondFactor ? SHORTEST_WITH_SECOND_FACTOR : SHORTEST_PASSWORD;
  const normal = password.normalize('NFKC');
  if ([...normal].length < shortest) return `must have at least ${shortest} characters`;
  if (password.length > LONGEST_PASSWORD) return `must have at most ${LONGEST_PASSWORD} characters`;
  const plain = normal.toLowerCase();
  if (new Set(plain).size < FEWEST_CHARACTERS) return 'must not repeat a few characters';
  // What is left when the parts that anybody would try are gone has to be long enough by itself, at half the length.
  const rest = without(plain, [...ownParts(context), ...WORDS, ...sequencesIn(plain)]);
  if (rest.length * 2 >= shortest) return null;
  return 'is too easy to guess: it is made of your name, your address, the product, or a row of keys';
}

/** What is known of the member and of where the password is typed, in lower case. */
function ownParts({ email, name, host }: PasswordContext): string[] {
  const parts = [email, name, host, 'trailgate'].flatMap((text) => {
    const plain = text.normalize('NFKC').toLowerCase();
    return [plain, ...plain.split(/[^\p{L}\p{N}]+/u)];
  });
  return parts.filter((part) => part.length >= SHORTEST_PART);
}

/** Runs of at least four keys, letters or digits that stand in a password. */
function sequencesIn(plain: string): string[] {
  const found: string[] = [];
  for (let from = 0; from + SHORTEST_PART <= plain.length; from++) {
    const length = sequenceLength(plain.slice(from));
    if (length >= SHORTEST_PART) found.push(plain.slice(from, from + length));
  }
  return found;
}

/** How many characters of the beginning of a text lie beside each other. */
function sequenceLength(text: string): number {
  let length = 0;
  while (length < text.length && SEQUENCES.some((run) => run.includes(text.slice(0, length + 1)))) length++;
  return length;
}

/** A text without these parts, the longest first, and with every repeated half taken once. */
function without(plain: string, parts: readonly string[]): string {
  const longestFirst = parts.toSorted((one, other) => other.length - one.length);
  const rest = longestFirst.reduce((text, part) => text.replaceAll(part, ''), plain);
  return rest.replace(/^(.+?)\1+$/u, '$1');
}
