/**
 * What is wrong with the fields of a form, by field: what the form found before it was sent, and what the API refused.
 * Every field asks here for its own. What no field asks for, the form writes into its error box.
 */
import { createContext, useContext, useLayoutEffect, useState } from 'react';
import { ApiProblem, type RefusedField } from '../api/problem.js';
import { useReasonWords } from '../words/reasons.js';

export interface FormErrors {
  /** Text by field, from the form's own checks. */
  readonly checks: Readonly<Record<string, string>>;
  readonly refused: readonly RefusedField[];
  readonly register: (field: string) => () => void;
}

export const FormErrorsContext = createContext<FormErrors>({ checks: {}, refused: [], register: () => () => {} });

/** The fields that a 422 names, or a 400 its parameters. */
export function refusedFields(error: unknown): readonly RefusedField[] {
  const isValidation = error instanceof ApiProblem && ['validation_failed', 'invalid_parameter'].includes(error.code);
  return isValidation ? error.fields : [];
}

/** Whether one of these fields has an error, for what hides them. */
export function useHasErrors(fields: readonly string[]): boolean {
  const { checks, refused } = useContext(FormErrorsContext);
  return fields.some((field) => checks[field] !== undefined || refused.some((each) => belongs(each.field, field)));
}

/** Whether the API's field belongs to the form's: `limits/minute` and `limits` do to `limits`. */
const belongs = (refused: string, field: string): boolean => refused === field || refused.startsWith(`${field}/`);

/** Whether one of these fields shows it. */
export const isShown = (refused: RefusedField, fields: ReadonlySet<string>): boolean =>
  [...fields].some((field) => belongs(refused.field, field));

/** The fields of a form that are on the page now, and how they say so. */
export function useShownFields(): readonly [ReadonlySet<string>, FormErrors['register']] {
  const [fields, setFields] = useState<readonly string[]>([]);
  const [register] = useState(() => (field: string) => {
    setFields((before) => [...before, field]);
    return () => setFields((before) => before.toSpliced(before.indexOf(field), 1));
  });
  return [new Set(fields), register];
}

/**
 * The text at a field of the form around it; undefined where nothing is wrong.
 * @param field as the API names it: `name`, `limits/minute`.
 * @param words in place of the API's reason, where they know more; undefined: its reason.
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
