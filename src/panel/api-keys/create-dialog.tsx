/** Makes a key: the form, then its secret, once. What is typed stays when the dialog is closed and opened again. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useCallback, useState } from 'react';
import { useAccount } from '../session/accounts.js';
import { Dialog } from '../layout/dialog.js';
import { Failure } from '../words/failure.js';
import { KeyFields } from './key-fields.js';
import { EMPTY, newKey, valuesOf, type KeyValues } from './key-values.js';
import { createKey, readAgain } from './keys.js';
import { useLeaveGuard } from './leave-guard.js';
import { useSentOnce } from './sent-once.js';
import { SecretStep } from './secret-step.js';

interface CreateDialogProps {
  readonly opened: boolean;
  /** Of the address: what is filled in already. */
  readonly parameters: URLSearchParams;
  readonly onClose: () => void;
}

/** The secret that was made, and for whom. Nothing but this dialog holds it. */
interface Made {
  readonly name: string;
  readonly secret: string;
  readonly scopes: readonly string[];
}

export function CreateDialog({ opened, parameters, onClose }: CreateDialogProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const [made, setMade] = useState<Made | null>(null);
  const [values, setValues] = useState<KeyValues>(() => valuesOf(parameters, timeZone));
  const given = opened ? parameters.toString() : '';
  const [filled, setFilled] = useState(given);
  if (given !== filled) {
    setFilled(given);
    if (given !== '') setValues(valuesOf(parameters, timeZone));
  }
  const [isLeaving, setLeaving] = useState(false);
  const ask = useCallback(() => setLeaving(true), []);
  const forget = useCallback(() => {
    setMade(null);
    setLeaving(false);
  }, []);
  useLeaveGuard(made !== null, ask, forget);
  return (
    <Dialog
      opened={opened || made !== null}
      onClose={made === null ? onClose : ask}
      closeOnClickOutside={false}
      title={made === null ? t`Create an API key` : t`The key is made`}
      size={640}
    >
      {made === null ? (
        <CreateForm
          values={values}
          onChange={(change) => setValues({ ...values, ...change })}
          onCancel={onClose}
          onMade={(key) => {
            setMade(key);
            setValues(EMPTY);
            // So that going back later does not lead to an empty form.
            onClose();
          }}
        />
      ) : (
        <SecretStep
          secret={made.secret}
          scopes={made.scopes}
          isLeaving={isLeaving}
          onStay={() => setLeaving(false)}
          onDone={forget}
        >
          <Text>
            <Trans>
              This is the secret of <b className="name">{made.name}</b>. Give it to the program that shall use it.
            </Trans>
          </Text>
        </SecretStep>
      )}
    </Dialog>
  );
}

interface CreateFormProps {
  readonly values: KeyValues;
  readonly onChange: (change: Partial<KeyValues>) => void;
  readonly onMade: (made: Made) => void;
  readonly onCancel: () => void;
}

function CreateForm({ values, onChange, onMade, onCancel }: CreateFormProps) {
  const { id: accountId, time_zone: timeZone } = useAccount();
  const { error, isPending, send, changed } = useSentOnce();
  const create = () =>
    send(async (requestId) => {
      const { name, secret, scopes } = await createKey(accountId, newKey(values, timeZone), requestId);
      onMade({ name, secret, scopes });
      void readAgain(accountId);
    });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <Stack gap="lg">
        <KeyFields
          values={values}
          error={error}
          onChange={(change) => {
            changed();
            onChange(change);
          }}
        />
        {error !== null && <Failure error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={isPending} disabled={values.scopes.length === 0}>
            <Trans>Create key</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
