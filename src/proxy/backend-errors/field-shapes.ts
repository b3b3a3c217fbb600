/** Recognizes the field errors of web frameworks in error bodies, by structure alone. */

/** Maximum depth of nested field errors. */
const MAX_LEVELS = 16;
/** Matches the beginning of a class-validator sentence. Free text rarely matches. */
const SENTENCE = /^(?:property |each value in )?([a-z_$][\w$]{0,99}(?:\.[\w$]{1,99}){0,15}) (?:must|should) /;

/**
 * Reports whether a value has the structure of field errors in Django REST or Rails. That is a list of messages, an
 * object of nested fields, or a list of objects with nested fields. In a list of objects, an item without errors is an
 * empty object.
 */
export function isFieldTree(value: unknown, level = 0): boolean {
  if (value === null || typeof value !== 'object' || level > MAX_LEVELS) return false;
  if (!Array.isArray(value)) {
    const members = Object.values(value);
    return members.length > 0 && members.every((member) => isFieldTree(member, level + 1));
  }
  const isValidEntry = (entry: unknown): boolean => isEmptyObject(entry) || isFieldTree(entry, level + 1);
  return value.every((entry) => typeof entry === 'string') || value.every(isValidEntry);
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
