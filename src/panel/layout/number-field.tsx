/** Text field for a number. The field never changes what the user typed. `useNumberCheck` validates the text. */
import { TextInput, type TextInputProps } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useFormats } from '../words/times.js';
import { useFieldError } from './form-errors.js';
import { numberOf } from './number.js';

interface NumberFieldProps extends Omit<TextInputProps, 'value' | 'onChange' | 'error'> {
  /** Name of the field in the API, which connects the field with its errors. */
  readonly field: string;
  /** The text as typed. */
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

/**
 * Range of allowed numbers. If `isNeeded` is set, an empty text is invalid. If `isFraction` is set, decimal places are
 * valid.
 */
interface Range {
  readonly min: number;
  readonly max?: number;
  readonly isNeeded?: boolean;
  readonly isFraction?: boolean;
}

/**
 * Returns a function that validates a typed number. That function returns the error text, or false if the number is
 * valid.
 */
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
