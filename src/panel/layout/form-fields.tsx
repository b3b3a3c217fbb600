/** Form fields that show their error, found by their name in the API. */
import {
  PasswordInput,
  Select,
  Textarea,
  TextInput,
  type PasswordInputProps,
  type SelectProps,
  type TextareaProps,
  type TextInputProps,
} from '@mantine/core';
import { useFieldError } from './form-errors.js';

/** Props of a field with its name in the API: `email`, `limits/minute`. */
type Of<P> = Omit<P, 'error'> & { readonly field: string };

export function FormText({ field, ...props }: Of<TextInputProps>) {
  return <TextInput {...props} error={useFieldError(field)} />;
}

export function FormPassword({ field, ...props }: Of<PasswordInputProps>) {
  return <PasswordInput {...props} error={useFieldError(field)} />;
}

export function FormTextarea({ field, ...props }: Of<TextareaProps>) {
  return <Textarea {...props} error={useFieldError(field)} />;
}

export function FormSelect({ field, ...props }: Of<SelectProps>) {
  return <Select {...props} error={useFieldError(field)} />;
}
