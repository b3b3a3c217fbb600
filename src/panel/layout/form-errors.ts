/**
 * Errors of a form's fields: from its own validation, and from the API. Every field reads its own error here. Errors
 * without a field go to the form's error box.
 */
import { createContext, useContext, useLayoutEffect, useState } from 'react';
import { ApiProblem, type RefusedField } from '../api/problem.js';
import { useReasonWords } from '../words/reasons.js';

export interface FormErrors {
  /** Error text by field, from the form's validation. */
  readonly checks: Readonly<Record<string, string>>;
  readonly refused: readonly RefusedField[];
  readonly register: (field: string) => () => void;
}

export const FormErrorsContext = createContext<FormErrors>({ checks: {}, refused: [], register: () => () => {} });

/** Returns the fields that a 422 names, or the parameters that a 400 names. */
export function refusedFields(error: unknown): readonly RefusedField[] {
  const isValidation = error instanceof ApiProblem && ['validation_failed', 'invalid_parameter'].includes(error.code);
  return isValidation ? error.fields : [];
}

/** Reports whether one of these fields has an error, to expand a section that hides it. */
export function useHasErrors(fields: readonly string[]): boolean {
  const { checks, refused } = useContext(FormErrorsContext);
  return fields.some((field) => checks[field] !== undefined || refused.some((each) => belongs(each.field, field)));
}

/** Reports whether the API's field belongs to the form's: `limits/minute` and `limits` belong to `limits`. */
const belongs = (refused: string, field: string): boolean => refused === field || refused.startsWith(`${field}/`);

/** Reports whether one of these fields shows the error. */
export const isShown = (refused: RefusedField, fields: ReadonlySet<string>): boolean =>
  [...fields].some((field) => belongs(refused.field, field));

/** Tracks the fields of a form that are on the page. */
export function useShownFields(): readonly [ReadonlySet<string>, FormErrors['register']] {
  const [fields, setFields] = useState<readonly string[]>([]);
  const [register] = useState(() => (field: string) => {
    setFields((before) => [...before, field]);
    return () => setFields((before) => before.toSpliced(before.indexOf(field), 1));
  });
  return [new Set(fields), register];
}

/**
 * Returns the error text of a field in the surrounding form; undefined if valid.
 * @param field name in the API: `name`, `limits/minute`.
 * @param words more specific text for an API reason; undefined: use the reason.
 */
export function useFieldError(
  field: string,
  words?: (refused: RefusedField) => string | undefined,
): string | undefined {
  const { checks, refused, register } = useContext(FormErrorsContext);
  const reason = useReasonWords();
  useLayoutEffect(() => register(field), [register, field]);
  const own = checks[field];
  if (own !== undefined) return own;
  const reasons = refused.filter((each) => belongs(each.field, field)).map((each) => words?.(each) ?? reason(each));
  return reasons.length === 0 ? undefined : [...new Set(reasons)].join(' ');
}
