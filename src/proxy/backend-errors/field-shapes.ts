/** How frameworks write down which fields are wrong when they do not name their members: told by shape alone. */

const MOST_LEVELS = 16;
/** How class-validator begins its sentences; a sentence of somebody's own seldom goes on like that. */
const SENTENCE = /^(?:property |each value in )?([a-z_$][\w$]{0,99}(?:\.[\w$]{1,99}){0,15}) (?:must|should) /;

/**
 * Whether a value is what stands behind a field's name in Django REST and Rails: texts, or fields of its own, or a list
 * of such; in such a list what is right is empty.
 */
export function isFieldTree(value: unknown, level = 0): boolean {
  if (value === null || typeof value !== 'object' || level > MOST_LEVELS) return false;
  if (!Array.isArray(value)) {
    const members = Object.values(value);
    return members.length > 0 && members.every((member) => isFieldTree(member, level + 1));
  }
  const isRight = (entry: unknown): boolean => isEmptyObject(entry) || isFieldTree(entry, level + 1);
  return value.every((entry) => typeof entry === 'string') || value.every(isRight);
}

/**
 * `addresses.1.city` of "addresses.1.city should not be empty"; undefined where a sentence does not begin like that.
 */
export function propertyOfSentence(sentence: string): string | undefined {
  return SENTENCE.exec(sentence)?.[1];
}

function isEmptyObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0;
}
