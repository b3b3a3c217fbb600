/** A dialog that changes something, and asks which version to keep where someone else changed it meanwhile. */
import { Button, Group } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { hasCode } from '../api/problem.js';
import { Dialog } from './dialog.js';
import { Form, type Checks } from './form.js';

/** Subject of the edit, its version, and whether the dialog is open. */
export interface Edited<Thing> {
  readonly shown: Thing;
  /** The version that is shown: a change of another one is not overwritten. */
  readonly etag: string | null;
  readonly opened: boolean;
  readonly onClose: () => void;
}

interface EditFormProps<Thing, Values> extends Omit<Edited<Thing>, 'opened'> {
  readonly valuesOf: (thing: Thing) => Values;
  readonly useChecks: (values: Values) => Checks;
  /** Sends what is different between the values, for this version alone. */
  readonly save: (before: Values, after: Values, etag: string | null) => Promise<unknown>;
  /** Has pages read it anew: after the change, and after someone else's. */
  readonly readAgain: () => Promise<unknown>;
  /** In place of the error box, where the thing has better words for this error. */
  readonly failure?: (error: unknown) => ReactNode;
  /** Draws the fields. @param opening the thing as the form was opened with it. */
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

/** Puts what was changed here on top of the values of now: nothing that others changed meanwhile is undone. */
function onTopOf<Values extends object>(now: Values, before: Values, mine: Values): Values {
  const changed = Object.entries(mine).filter(([name, value]) => !isSame(before[name as keyof Values], value));
  return { ...now, ...Object.fromEntries(changed) };
}

function EditForm<Thing, Values extends object>(props: EditFormProps<Thing, Values>) {
  const { shown, etag, onClose, valuesOf, useChecks, readAgain } = props;
  // Of when the form was opened: what others change meanwhile is said, not mixed in.
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
