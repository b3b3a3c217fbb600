/** A dialog that edits an object, and resolves conflicts with concurrent edits. */
import { Button, Group } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { hasCode } from '../api/problem.js';
import { Dialog } from './dialog.js';
import { Form, type Checks } from './form.js';

/** The edited object, its version, and whether the dialog is open. */
export interface Edited<Thing> {
  readonly shown: Thing;
  /** The version that is shown. The API rejects changes to any other. */
  readonly etag: string | null;
  readonly opened: boolean;
  readonly onClose: () => void;
}

interface EditFormProps<Thing, Values> extends Omit<Edited<Thing>, 'opened'> {
  readonly valuesOf: (thing: Thing) => Values;
  readonly useChecks: (values: Values) => Checks;
  /** Sends the difference between the values, for this version only. */
  readonly save: (before: Values, after: Values, etag: string | null) => Promise<unknown>;
  /** Refetches the object after the change, and after a conflict. */
  readonly readAgain: () => Promise<unknown>;
  /** Replaces the error box for errors that the object explains better. */
  readonly failure?: (error: unknown) => ReactNode;
  /** Renders the fields. @param opening the object as it was when the form opened. */
  readonly children: (values: Values, onChange: (change: Partial<Values>) => void, opening: Thing) => ReactNode;
}

interface EditDialogProps<Thing, Values> extends EditFormProps<Thing, Values> {
  readonly title: string;
  readonly opened: boolean;
}

export function EditDialog<Thing, Values extends object>({ title, opened, ...form }: EditDialogProps<Thing, Values>) {
  return (
    <Dialog opened={opened} onClose={form.onClose} closeOnClickOutside={false} title={title} size={640}>
      <EditForm {...form} />
    </Dialog>
  );
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Merges the user's changes into the current values, so other people's changes stay. */
function onTopOf<Values extends object>(now: Values, before: Values, mine: Values): Values {
  const changed = Object.entries(mine).filter(([name, value]) => !isSame(before[name as keyof Values], value));
  return { ...now, ...Object.fromEntries(changed) };
}

function EditForm<Thing, Values extends object>(props: EditFormProps<Thing, Values>) {
  const { shown, etag, onClose, valuesOf, useChecks, readAgain } = props;
  // Values at opening. Later changes of others are shown separately, not mixed in.
  const [opening, setOpening] = useState({ thing: shown, etag });
  const before = valuesOf(opening.thing);
  const [values, setValues] = useState(before);
  const checks = useChecks(values);
  const save = useMutation({
    mutationFn: () => props.save(before, values, opening.etag),
    onSuccess: async () => {
      await readAgain();
      onClose();
    },
    onError: (error) => void (hasCode(error, 'precondition_failed') && readAgain()),
  });
  const isReadAgain = etag !== opening.etag;
  const continueFrom = (next: Values): void => {
    setOpening({ thing: shown, etag });
    setValues(next);
    save.reset();
  };
  const now = valuesOf(shown);
  return (
    <Form
      gap="lg"
      error={save.error}
      checks={checks}
      failure={props.failure?.(save.error)}
      onSubmit={() => save.mutate()}
      footer={
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          {hasCode(save.error, 'precondition_failed') ? (
            <>
              <Button variant="default" loading={!isReadAgain} onClick={() => continueFrom(now)}>
                <Trans>Use latest</Trans>
              </Button>
              <Button loading={!isReadAgain} onClick={() => continueFrom(onTopOf(now, before, values))}>
                <Trans>Overwrite</Trans>
              </Button>
            </>
          ) : (
            <Button type="submit" loading={save.isPending} disabled={isSame(values, before)}>
              <Trans>Save</Trans>
            </Button>
          )}
        </Group>
      }
    >
      {props.children(values, (change) => setValues({ ...values, ...change }), opening.thing)}
    </Form>
  );
}
