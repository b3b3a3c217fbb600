/**
 * Dialog that creates an API key. The dialog shows the form, then the secret once. The form keeps its values while the
 * dialog is closed.
 */
import { Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useAccount } from '../session/accounts.js';
import { SecretDialog } from '../layout/secret-dialog.js';
import { CreateForm } from './create-form.js';
import { EMPTY, valuesOf, type KeyValues } from './key-values.js';
import type { CreatedKey } from './keys.js';
import { SecretStep } from './secret-step.js';

interface CreateDialogProps {
  readonly opened: boolean;
  /** Query parameters of the page's URL, which prefill the form. */
  readonly parameters: URLSearchParams;
  readonly onClose: () => void;
}

/**
 * Secret, name and scopes of the new key. The secret exists only in the state of this dialog, not in a cache or in
 * storage.
 */
type KeySecretFields = Pick<CreatedKey, 'name' | 'secret' | 'scopes'>;

export function CreateDialog({ opened, parameters, onClose }: CreateDialogProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const [values, setValues] = useState<KeyValues>(() => valuesOf(parameters, timeZone));
  const query = opened ? parameters.toString() : '';
  const [appliedQuery, setAppliedQuery] = useState(query);
  if (query !== appliedQuery) {
    setAppliedQuery(query);
    if (query !== '') setValues(valuesOf(parameters, timeZone));
  }
  return (
    <SecretDialog<KeySecretFields>
      opened={opened}
      onClose={onClose}
      title={t`Create API key`}
      createdTitle={t`API key created`}
      keepsForm
      form={(onCreated) => (
        <CreateForm
          values={values}
          onChange={(change) => setValues({ ...values, ...change })}
          onCancel={onClose}
          onCreated={({ name, secret, scopes }) => {
            onCreated({ name, secret, scopes });
            setValues(EMPTY);
          }}
        />
      )}
      secret={(made, leaving) => (
        <SecretStep secret={made.secret} scopes={made.scopes} {...leaving}>
          <Text>
            <Trans>
              This is the secret key for <b className="name">{made.name}</b>.
            </Trans>
          </Text>
        </SecretStep>
      )}
    />
  );
}
