/**
 * Form component of the panel. It submits only valid values. It shows each error at its field or in the error box, and
 * scrolls to the first error. The browser's validation is off, because its texts are in the browser's language.
 */
import { Stack, type MantineSpacing } from '@mantine/core';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { FormErrorsContext, isShown, refusedFields, useShownFields } from './form-errors.js';

/** Error text by API field name. False and undefined mean that the field is valid. */
export type Checks = Readonly<Record<string, string | false | undefined>>;

interface FormProps {
  /** Error of the last submit. Null without an error. */
  readonly error: unknown;
  /** Validation errors of the current values. The form shows them after the first submit. */
  readonly checks?: Checks | undefined;
  readonly gap?: MantineSpacing;
  /** Replaces the error box. Undefined: the form shows the error box if there is an error. */
  readonly failure?: ReactNode;
  /** Called after a submit if all values are valid. */
  readonly onSubmit: () => void;
  readonly onChange?: (() => void) | undefined;
  /** The buttons, below the error box. */
  readonly footer: ReactNode;
  /** The fields of the form. */
  readonly children: ReactNode;
}

export function Form({ error, checks, gap = 'md', failure, onSubmit, onChange, footer, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  // Number of consecutive submits with invalid values. Each such submit scrolls to the first error again.
  const [rejectedSubmits, setRejectedSubmits] = useState(0);
  const [fields, register] = useShownFields();
  const invalid = Object.entries(checks ?? {}).flatMap(([field, text]) => (text ? [[field, text] as const] : []));
  const refused = refusedFields(error);
  useEffect(() => {
    if (rejectedSubmits > 0 || error !== null) showFirstError(form.current);
  }, [rejectedSubmits, error]);
  return (
    <FormErrorsContext value={{ checks: rejectedSubmits === 0 ? {} : Object.fromEntries(invalid), refused, register }}>
      <form
        ref={form}
        noValidate
        onChange={onChange}
        onSubmit={(event) => {
          event.preventDefault();
          if (invalid.length > 0) return setRejectedSubmits(rejectedSubmits + 1);
          setRejectedSubmits(0);
          onSubmit();
        }}
      >
        <Stack gap={gap}>
          {children}
          {failure ??
            (error !== null && <Failure error={error} atFields={refused.filter((each) => isShown(each, fields))} />)}
          {footer}
        </Stack>
      </form>
    </FormErrorsContext>
  );
}

/** CSS selector of the error texts that Mantine renders at fields and groups of fields. */
const FIELD_ERRORS = '.mantine-InputWrapper-error, [id$="-error"]';

/**
 * Scrolls to the error box if it names a reason, or if no field shows an error. Otherwise, scrolls to the first invalid
 * field and focuses it.
 */
function showFirstError(form: HTMLFormElement | null): void {
  // The new error texts have no position until the browser has computed the layout.
  requestAnimationFrame(() => {
    const box = form?.querySelector('[role=alert]');
    const atField = form?.querySelector(FIELD_ERRORS);
    const first = box?.querySelector('[data-reason]') ? box : (atField ?? box);
    first?.scrollIntoView({ block: 'center' });
    const input = form?.querySelector<HTMLElement>('[aria-invalid=true]:not([aria-haspopup])');
    if (first === atField) input?.focus({ preventScroll: true });
  });
}
