/** Recognizes field errors of frameworks by structure alone. */

const MOST_LEVELS = 16;
/** The beginning of a class-validator sentence. Free text rarely matches. */
const SENTENCE = /^(?:property |each value in )?([a-z_$][\w$]{0,99}(?:\.[\w$]{1,99}){0,15}) (?:must|should) /;

/**
 * Reports whether a value has the structure of field errors in Django REST or Rails: messages, nested fields, or a list
 * of nested fields. Valid items of such a list are empty objects.
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
 * Returns `addresses.1.city` for "addresses.1.city should not be empty", or undefined if the sentence has another form.
 */
export function propertyOfSentence(sentence: string): string | undefined {
  return SENTENCE.exec(sentence)?.[1];
}

function isEmptyObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0;
}
