/** Changes a key: what it is called, may do, how long and from where. */
import { Button, Group } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { hasCode } from '../api/problem.js';
import { Dialog } from '../layout/dialog.js';
import { useAccount } from '../session/accounts.js';
import { Form } from '../layout/form.js';
import { KeyFailure, isRevokedMeanwhile } from './key-failure.js';
import { KeyFields, useKeyChecks } from './key-fields.js';
import { changeOf, onTopOf, valuesOfKey, type KeyValues } from './key-values.js';
import { readAgain, updateKey, useImpact, type Key, type OAuthGrant } from './keys.js';
import { Overtaken } from './overtaken.js';

interface EditDialogProps {
  readonly shown: Key;
  /** The version that is shown: a change of another one is not overwritten. */
  readonly etag: string | null;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function EditDialog({ shown, etag, opened, onClose }: EditDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} onClose={onClose} closeOnClickOutside={false} title={t`Edit API key`} size={640}>
      <EditForm shown={shown} etag={etag} onClose={onClose} />
    </Dialog>
  );
}

/** Of an OAuth client's key, the most that it may become: as it is, until that was read. Null of another one. */
function useGrant({ id, oauth_client: client, scopes, expires_at: end }: Key): OAuthGrant | null {
  const { data } = useImpact(id, client !== null);
  return client === null ? null : (data?.oauth_grant ?? { scopes, latest_expires_at: end });
}

function EditForm({ shown, etag, onClose }: Omit<EditDialogProps, 'opened'>) {
  const { i18n } = useLingui();
  const { time_zone: timeZone } = useAccount();
  // Of when the form was opened: what others change meanwhile is said, not mixed in.
  const [opening, setOpening] = useState({ key: shown, etag });
  const grant = useGrant(opening.key);
  const before = valuesOfKey(opening.key);
  const [values, setValues] = useState(before);
  const checks = useKeyChecks(values);
  const change = changeOf(before, values, timeZone, i18n.locale);
  const save = useMutation({
    mutationFn: () => updateKey(shown.id, change, opening.etag),
    onSuccess: async () => {
      await readAgain(shown.account_id, shown.id);
      onClose();
    },
    onError: (error) => void (hasCode(error, 'precondition_failed') && readAgain(shown.account_id, shown.id)),
  });
  const overtaken = hasCode(save.error, 'precondition_failed') ? save.error : null;
  const failure = isRevokedMeanwhile(save.error) ? <KeyFailure error={save.error} /> : undefined;
  const isReadAgain = etag !== opening.etag;
  const goOnFrom = (next: KeyValues): void => {
    setOpening({ key: shown, etag });
    setValues(next);
    save.reset();
  };
  const isChanged = JSON.stringify(values) !== JSON.stringify(before);
  return (
    <Form
      gap="lg"
      error={save.error}
      checks={checks}
      failure={overtaken === null ? failure : <Overtaken error={overtaken} now={shown} />}
      onSubmit={() => save.mutate()}
      footer={
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          {overtaken !== null ? (
            <>
              <Button variant="default" loading={!isReadAgain} onClick={() => goOnFrom(valuesOfKey(shown))}>
                <Trans>Take over what it is now</Trans>
              </Button>
              <Button loading={!isReadAgain} onClick={() => goOnFrom(onTopOf(valuesOfKey(shown), before, values))}>
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
      <KeyFields
        values={values}
        current={opening.key}
        grant={grant}
        onChange={(each) => setValues({ ...values, ...each })}
      />
    </Form>
  );
}
