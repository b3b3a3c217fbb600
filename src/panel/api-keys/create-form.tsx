/** The form that makes a key, whoever it is for. It sends it once. */
import { Button, Group, Stack } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { useAccount } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { createKey, readAgain, type MadeKey } from './keys.js';
import { useSentOnce } from '../api/sent-once.js';
import { KeyFields } from './key-fields.js';
import { newKey, type KeyValues } from './key-values.js';

interface CreateFormProps {
  readonly values: KeyValues;
  readonly onChange: (change: Partial<KeyValues>) => void;
  /** Given the key with its secret, which nothing but the caller holds from then on. */
  readonly onMade: (made: MadeKey) => void;
  readonly onCancel: () => void;
  /** What stands above the fields. */
  readonly children?: ReactNode;
}

export function CreateForm({ values, onChange, onMade, onCancel, children }: CreateFormProps) {
  const { id: accountId, time_zone: timeZone } = useAccount();
  const { error, isPending, send, changed } = useSentOnce();
  const create = () =>
    send(async (requestId) => {
      onMade(await createKey(accountId, newKey(values, timeZone), requestId));
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
        {children}
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
