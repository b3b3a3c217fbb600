/**
 * The form component of the panel. It submits only valid values, shows every error at its field or in the error box,
 * and scrolls to the first. The browser's own validation is off, because it uses the browser's language.
 */
import { Stack, type MantineSpacing } from '@mantine/core';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { FormErrorsContext, isShown, refusedFields, useShownFields } from './form-errors.js';

/** Error text by field; false and undefined: valid. */
export type Checks = Readonly<Record<string, string | false | undefined>>;

interface FormProps {
  /** The failure of the last try; null without one. */
  readonly error: unknown;
  /** Errors of the current values. */
  readonly checks?: Checks | undefined;
  readonly gap?: MantineSpacing;
  /** Replaces the error box for errors that the form explains better. */
  readonly failure?: ReactNode;
  /** Called when all values are valid. */
  readonly onSubmit: () => void;
  readonly onChange?: (() => void) | undefined;
  /** The buttons, below the error box. */
  readonly footer: ReactNode;
  /** The fields. */
  readonly children: ReactNode;
}

export function Form({ error, checks, gap = 'md', failure, onSubmit, onChange, footer, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  // Counts rejected submits, so that each scrolls to the error.
  const [held, setHeld] = useState(0);
  const [fields, register] = useShownFields();
  const failed = Object.entries(checks ?? {}).flatMap(([field, text]) => (text ? [[field, text] as const] : []));
  const refused = refusedFields(error);
  useEffect(() => {
    if (held > 0 || error !== null) showFirstError(form.current);
  }, [held, error]);
  return (
    <FormErrorsContext value={{ checks: held === 0 ? {} : Object.fromEntries(failed), refused, register }}>
      <form
        ref={form}
        noValidate
        onChange={onChange}
        onSubmit={(event) => {
          event.preventDefault();
          if (failed.length > 0) return setHeld(held + 1);
          setHeld(0);
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

/** Selects Mantine's error texts of fields and groups. */
const FIELD_ERRORS = '.mantine-InputWrapper-error, [id$="-error"]';

/** Scrolls to the error box if it has its own reason, else to the first invalid field. */
function showFirstError(form: HTMLFormElement | null): void {
  // Errors that appear with this render have no position until the next layout.
  requestAnimationFrame(() => {
    const box = form?.querySelector('[role=alert]');
    const atField = form?.querySelector(FIELD_ERRORS);
    const first = box?.querySelector('[data-reason]') ? box : (atField ?? box);
    first?.scrollIntoView({ block: 'center' });
    const input = form?.querySelector<HTMLElement>('[aria-invalid=true]:not([aria-haspopup])');
    if (first === atField) input?.focus({ preventScroll: true });
  });
}
