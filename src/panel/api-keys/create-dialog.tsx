/** Makes a key: the form, then its secret, once. What is typed stays when the dialog is closed and opened again. */
import { Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useAccount } from '../session/accounts.js';
import { Dialog } from '../layout/dialog.js';
import { CreateForm } from './create-form.js';
import { EMPTY, valuesOf, type KeyValues } from './key-values.js';
import type { MadeKey } from './keys.js';
import { useShownSecret } from '../layout/shown-secret.js';
import { SecretStep } from './secret-step.js';

interface CreateDialogProps {
  readonly opened: boolean;
  /** Of the address: what is filled in already. */
  readonly parameters: URLSearchParams;
  readonly onClose: () => void;
}

/** The secret that was made, and for whom. Nothing but this dialog holds it. */
type Made = Pick<MadeKey, 'name' | 'secret' | 'scopes'>;

export function CreateDialog({ opened, parameters, onClose }: CreateDialogProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { made, show, isLeaving, askToLeave, stay, forget } = useShownSecret<Made>();
  const [values, setValues] = useState<KeyValues>(() => valuesOf(parameters, timeZone));
  const given = opened ? parameters.toString() : '';
  const [filled, setFilled] = useState(given);
  if (given !== filled) {
    setFilled(given);
    if (given !== '') setValues(valuesOf(parameters, timeZone));
  }
  return (
    <Dialog
      opened={opened || made !== null}
      onClose={made === null ? onClose : askToLeave}
      closeOnClickOutside={false}
      title={made === null ? t`Create an API key` : t`API key created`}
      size={640}
    >
      {made === null ? (
        <CreateForm
          values={values}
          onChange={(change) => setValues({ ...values, ...change })}
          onCancel={onClose}
          onMade={({ name, secret, scopes }) => {
            show({ name, secret, scopes });
            setValues(EMPTY);
            // So that going back later does not lead to an empty form.
            onClose();
          }}
        />
      ) : (
        <SecretStep secret={made.secret} scopes={made.scopes} isLeaving={isLeaving} onStay={stay} onDone={forget}>
          <Text>
            <Trans>
              This is the secret key for <b className="name">{made.name}</b>.
            </Trans>
          </Text>
        </SecretStep>
      )}
    </Dialog>
  );
}
