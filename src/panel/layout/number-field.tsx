/** Number input that never changes what the user typed. The range is validated on submit. */
import { TextInput, type TextInputProps } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useFormats } from '../words/times.js';
import { useFieldError } from './form-errors.js';
import { numberOf } from './number.js';

interface NumberFieldProps extends Omit<TextInputProps, 'value' | 'onChange' | 'error'> {
  /** Field name in the API, for its errors. */
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

/** Returns a validator of typed numbers. @returns the error text; false if valid. */
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
