/**
 * The one form of the panel. It sends nothing while a check fails, shows every reason at its field or in the error box,
 * and scrolls to it. The browser's own bubbles are off: they speak the browser's language, not the page's.
 */
import { Stack, type MantineSpacing } from '@mantine/core';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Failure } from '../words/failure.js';
import { FormErrorsContext, isShown, refusedFields, useShownFields } from './form-errors.js';

/** Text by field; false and undefined: nothing is wrong there. */
export type Checks = Readonly<Record<string, string | false | undefined>>;

interface FormProps {
  /** Why the last try failed; null: it has not. */
  readonly error: unknown;
  /** What is wrong with the values as they are typed now. */
  readonly checks?: Checks | undefined;
  readonly gap?: MantineSpacing;
  /** In place of the error box, where the form knows better words for this error. */
  readonly failure?: ReactNode;
  /** Called when no check fails. */
  readonly onSubmit: () => void;
  readonly onChange?: (() => void) | undefined;
  /** The buttons, below the error box. */
  readonly footer: ReactNode;
  /** The fields. */
  readonly children: ReactNode;
}

export function Form({ error, checks, gap = 'md', failure, onSubmit, onChange, footer, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  // Counts presses that were not sent, so that each of them scrolls.
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

/** What Mantine gives the text of an error at a field or a group of fields. */
const FIELD_ERRORS = '.mantine-InputWrapper-error, [id$="-error"]';

/** Scrolls to the error box where it has a reason of its own, else to the first field that has one. */
function showFirstError(form: HTMLFormElement | null): void {
  // Errors that appear with this render have their place after the next layout.
  requestAnimationFrame(() => {
    const box = form?.querySelector('[role=alert]');
    const atField = form?.querySelector(FIELD_ERRORS);
    const first = box?.querySelector('[data-reason]') ? box : (atField ?? box);
    first?.scrollIntoView({ block: 'center' });
    const input = form?.querySelector<HTMLElement>('[aria-invalid=true]:not([aria-haspopup])');
    if (first === atField) input?.focus({ preventScroll: true });
  });
}
