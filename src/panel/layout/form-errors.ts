/**
 * Errors of form fields, from the form's validation and from the API. Each field reads its error from the context. The
 * form's error box shows the errors that no field on the page shows.
 */
import { createContext, useContext, useLayoutEffect, useState } from 'react';
import { ApiProblem, type RefusedField } from '../api/problem.js';
import { useReasonText } from '../words/reasons.js';

/** Errors that a form provides to its fields through the context. */
export interface FormErrors {
  /** Error texts of the form's validation, by API field name. */
  readonly checks: Readonly<Record<string, string>>;
  /** Fields that the API rejected after the last submit. */
  readonly refused: readonly RefusedField[];
  /** Tells the form that a field is on the page. Returns a function that removes the field again. */
  readonly register: (field: string) => () => void;
}

export const FormErrorsContext = createContext<FormErrors>({ checks: {}, refused: [], register: () => () => {} });

/** Returns the fields or parameters that the API rejected as invalid. Empty if the error has another cause. */
export function refusedFields(error: unknown): readonly RefusedField[] {
  const isValidation = error instanceof ApiProblem && ['validation_failed', 'invalid_parameter'].includes(error.code);
  return isValidation ? error.fields : [];
}

/** Reports whether one of the given fields has an error. If so, a collapsed section with these fields must open. */
export function useHasErrors(fields: readonly string[]): boolean {
  const { checks, refused } = useContext(FormErrorsContext);
  return fields.some((field) => checks[field] !== undefined || refused.some((each) => belongsTo(each.field, field)));
}

/**
 * Reports whether a form field shows an API field's error. The form field `limits` also shows errors of
 * `limits/minute`.
 */
const belongsTo = (refused: string, field: string): boolean => refused === field || refused.startsWith(`${field}/`);

/** Reports whether one of the form fields on the page shows the error of a rejected API field. */
export const isShown = (refused: RefusedField, fields: ReadonlySet<string>): boolean =>
  [...fields].some((field) => belongsTo(refused.field, field));

/**
 * Tracks which fields of a form are on the page. Returns their names, and the function with which a field registers.
 */
export function useShownFields(): readonly [ReadonlySet<string>, FormErrors['register']] {
  const [fields, setFields] = useState<readonly string[]>([]);
  const [register] = useState(() => (field: string) => {
    setFields((before) => [...before, field]);
    return () => setFields((before) => before.toSpliced(before.indexOf(field), 1));
  });
  return [new Set(fields), register];
}

/**
 * Returns the error text of a field in the surrounding form, and registers the field there. Undefined: the field is
 * valid.
 * @param field name in the API, such as `name` or `limits/minute`.
 * @param words returns a more specific text for a rejection; undefined: use the usual text.
 */
export function useFieldError(
  field: string,
  words?: (refused: RefusedField) => string | undefined,
): string | undefined {
  const { checks, refused, register } = useContext(FormErrorsContext);
  const reason = useReasonText();
  useLayoutEffect(() => register(field), [register, field]);
  const own = checks[field];
  if (own !== undefined) return own;
  const reasons = refused.filter((each) => belongsTo(each.field, field)).map((each) => words?.(each) ?? reason(each));
  return reasons.length === 0 ? undefined : [...new Set(reasons)].join(' ');
}
