/** Mantine form fields that show their own error. The API name of a field connects the field with its error. */
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

/** Props of a Mantine field, and the name of the field in the API, such as `email` or `limits/minute`. */
type FieldProps<P> = Omit<P, 'error'> & { readonly field: string };

export function FormText({ field, ...props }: FieldProps<TextInputProps>) {
  return <TextInput {...props} error={useFieldError(field)} />;
}

export function FormPassword({ field, ...props }: FieldProps<PasswordInputProps>) {
  return <PasswordInput {...props} error={useFieldError(field)} />;
}

export function FormTextarea({ field, ...props }: FieldProps<TextareaProps>) {
  return <Textarea {...props} error={useFieldError(field)} />;
}

export function FormSelect({ field, ...props }: FieldProps<SelectProps>) {
  return <Select {...props} error={useFieldError(field)} />;
}
