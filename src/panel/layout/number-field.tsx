/**
 * A field for a number. What is typed stays as it is: nothing is clamped, dropped or rewritten. Whether it is a number
 * in range is said at the field when the form is sent.
 */
import { TextInput, type TextInputProps } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useFormats } from '../words/times.js';
import { useFieldError } from './form-errors.js';
import { numberOf } from './number.js';

interface NumberFieldProps extends Omit<TextInputProps, 'value' | 'onChange' | 'error'> {
  /** Of the API, for its reasons. */
  readonly field: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

export function NumberField({ field, value, onChange, ...others }: NumberFieldProps) {
  const error = useFieldError(field);
  return (
    <TextInput
      inputMode="decimal"
      autoComplete="off"
      {...others}
      value={value}
      error={error}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface Range {
  readonly min: number;
  readonly max?: number;
  readonly isNeeded?: boolean;
  readonly isFraction?: boolean;
}

/** Checks a number as it is typed. @returns what is wrong with it; false: nothing. */
export function useNumberCheck(): (text: string, range: Range) => string | false {
  const { t, i18n } = useLingui();
  const { number } = useFormats();
  return (text, { min, max = Number.MAX_SAFE_INTEGER, isNeeded = false, isFraction = false }) => {
    const value = numberOf(text, i18n.locale);
    if (value === undefined) return isNeeded && t`Fill this in.`;
    if (Number.isNaN(value)) return t`Enter a number.`;
    if (!isFraction && !Number.isInteger(value)) return t`Enter a whole number.`;
    if (value < min) return t`Enter ${number(min)} or more.`;
    return value > max && t`Enter ${number(max)} or less.`;
  };
}
