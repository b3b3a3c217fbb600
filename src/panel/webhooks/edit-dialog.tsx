/** Changes an endpoint: where it is and what it is told of. */
import { Button, Group } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { hasCode } from '../api/problem.js';
import { Dialog } from '../layout/dialog.js';
import { Form } from '../layout/form.js';
import { EndpointFields, useEndpointChecks } from './endpoint-fields.js';
import { changeOf, onTopOf, valuesOf, type EndpointValues } from './endpoint-values.js';
import { readAgain, updateEndpoint, type Endpoint } from './webhooks.js';

interface EditDialogProps {
  readonly shown: Endpoint;
  /** The version that is shown: a change of another one is not overwritten. */
  readonly etag: string | null;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function EditDialog({ shown, etag, opened, onClose }: EditDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} onClose={onClose} closeOnClickOutside={false} title={t`Edit endpoint`} size={640}>
      <EditForm shown={shown} etag={etag} onClose={onClose} />
    </Dialog>
  );
}

function EditForm({ shown, etag, onClose }: Omit<EditDialogProps, 'opened'>) {
  const { i18n } = useLingui();
  // Of when the form was opened: what others change meanwhile is said, not mixed in.
  const [opening, setOpening] = useState({ endpoint: shown, etag });
  const before = valuesOf(opening.endpoint);
  const [values, setValues] = useState(before);
  const checks = useEndpointChecks(values);
  const change = changeOf(before, values, i18n.locale);
  const save = useMutation({
    mutationFn: () => updateEndpoint(shown.id, change, opening.etag),
    onSuccess: async () => {
      await readAgain(shown);
      onClose();
    },
    onError: (error) => void (hasCode(error, 'precondition_failed') && readAgain(shown)),
  });
  const isOvertaken = hasCode(save.error, 'precondition_failed');
  const isReadAgain = etag !== opening.etag;
  const goOnFrom = (next: EndpointValues): void => {
    setOpening({ endpoint: shown, etag });
    setValues(next);
    save.reset();
  };
  const isChanged = JSON.stringify(values) !== JSON.stringify(before);
  return (
    <Form
      gap="lg"
      error={save.error}
      checks={checks}
      onSubmit={() => save.mutate()}
      footer={
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          {isOvertaken ? (
            <>
              <Button variant="default" loading={!isReadAgain} onClick={() => goOnFrom(valuesOf(shown))}>
                <Trans>Take over what it is now</Trans>
              </Button>
              <Button loading={!isReadAgain} onClick={() => goOnFrom(onTopOf(valuesOf(shown), before, values))}>
                <Trans>Keep mine</Trans>
              </Button>
            </>
          ) : (
            <Button type="submit" loading={save.isPending} disabled={!isChanged}>
              <Trans>Save</Trans>
            </Button>
          )}
        </Group>
      }
    >
      <EndpointFields values={values} onChange={(each) => setValues({ ...values, ...each })} />
    </Form>
  );
}
