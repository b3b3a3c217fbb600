/**
 * Form that creates an API key, for the API keys page and the AI assistants page. If a response is lost, the next
 * submit does not create a second key.
 */
import { useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { DialogForm } from '../layout/dialog-form.js';
import { useAccount } from '../session/accounts.js';
import { createKey, refetchKeys, type CreatedKey } from './keys.js';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import { KeyFields, useKeyChecks } from './key-fields.js';
import { newKey, type KeyValues } from './key-values.js';

interface CreateFormProps {
  readonly values: KeyValues;
  readonly onChange: (change: Partial<KeyValues>) => void;
  /** Receives the new key with its secret. The form does not keep the secret. */
  readonly onCreated: (made: CreatedKey) => void;
  readonly onCancel: () => void;
  /** Content above the fields. */
  readonly children?: ReactNode;
}

export function CreateForm({ values, onChange, onCreated, onCancel, children }: CreateFormProps) {
  const { t, i18n } = useLingui();
  const checks = useKeyChecks(values);
  const { id: accountId, time_zone: timeZone } = useAccount();
  const { error, isPending, send, changed } = useIdempotentRequest();
  const create = () =>
    send(async (requestId) => {
      onCreated(await createKey(accountId, newKey(values, timeZone, i18n.locale), requestId));
      void refetchKeys(accountId);
    });
  return (
    <DialogForm
      submitLabel={t`Create key`}
      error={error}
      isPending={isPending}
      checks={checks}
      onSubmit={() => void create()}
      onCancel={onCancel}
    >
      {children}
      <KeyFields
        values={values}
        onChange={(change) => {
          changed();
          onChange(change);
        }}
      />
    </DialogForm>
  );
}
