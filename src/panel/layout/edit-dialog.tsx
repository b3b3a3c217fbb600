/**
 * Dialog that edits an object. If someone else changed the object in the meantime, the user can discard their own
 * changes, or apply them to the latest version.
 */
import { Button, Group } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { hasCode } from '../api/problem.js';
import { Dialog } from './dialog.js';
import { Form, type Checks } from './form.js';

/** EditTarget has the object to edit, and the state of the dialog. */
export interface EditTarget<Thing> {
  /** Current state of the object, as the page shows it. */
  readonly shown: Thing;
  /** Version of `shown`. The API rejects a change if the object has another version. */
  readonly etag: string | null;
  readonly opened: boolean;
  readonly onClose: () => void;
}

interface EditFormProps<Thing, Values> extends Omit<EditTarget<Thing>, 'opened'> {
  /** Returns the form values of an object. */
  readonly valuesOf: (thing: Thing) => Values;
  /** Hook that validates the values, and returns their errors by API field name. */
  readonly useChecks: (values: Values) => Checks;
  /** Sends the difference between the values. The API must reject the change unless `etag` is the current version. */
  readonly save: (before: Values, after: Values, etag: string | null) => Promise<unknown>;
  /** Refetches the object after a successful change and after a conflict. */
  readonly refetch: () => Promise<unknown>;
  /** Renders an error in place of the error box. Undefined shows the error box. */
  readonly failure?: (error: unknown) => ReactNode;
  /** Renders the fields. @param opening the version of the object on which the user's edits are based. */
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

/** Applies the user's changes to the latest values. Fields that the user did not change get their latest value. */
function mergeChanges<Values extends object>(latest: Values, before: Values, edited: Values): Values {
  const changed = Object.entries(edited).filter(([name, value]) => !isSame(before[name as keyof Values], value));
  return { ...latest, ...Object.fromEntries(changed) };
}

function EditForm<Thing, Values extends object>(props: EditFormProps<Thing, Values>) {
  const { shown, etag, onClose, valuesOf, useChecks, refetch } = props;
  // Object and version on which the edits are based. Only the resolution of a conflict replaces them. A refetch does
  // not.
  const [opening, setOpening] = useState({ thing: shown, etag });
  const before = valuesOf(opening.thing);
  const [values, setValues] = useState(before);
  const checks = useChecks(values);
  const save = useMutation({
    mutationFn: () => props.save(before, values, opening.etag),
    onSuccess: async () => {
      await refetch();
      onClose();
    },
    onError: (error) => void (hasCode(error, 'precondition_failed') && refetch()),
  });
  // False after a conflict until the refetch has loaded the new version.
  const hasNewVersion = etag !== opening.etag;
  const continueFrom = (next: Values): void => {
    setOpening({ thing: shown, etag });
    setValues(next);
    save.reset();
  };
  const latest = valuesOf(shown);
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
              <Button variant="default" loading={!hasNewVersion} onClick={() => continueFrom(latest)}>
                <Trans>Use latest</Trans>
              </Button>
              <Button loading={!hasNewVersion} onClick={() => continueFrom(mergeChanges(latest, before, values))}>
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
