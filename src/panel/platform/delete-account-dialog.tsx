/** Dialog with which operators delete an account. To confirm, the operator must type the name of the account. */
import { Text, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useFieldError } from '../layout/form-errors.js';
import { isolateName } from '../words/isolated.js';
import { deleteAccount, refetchAccounts, type Account } from './accounts.js';

interface DeleteAccountDialogProps {
  readonly account: Account;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function DeleteAccountDialog({ account, opened, onClose }: DeleteAccountDialogProps) {
  const { t } = useLingui();
  return (
    <Dialog opened={opened} title={t`Delete ${isolateName(account.name)}?`} onClose={onClose}>
      <DeleteAccountForm account={account} onClose={onClose} />
    </Dialog>
  );
}

function DeleteAccountForm({ account, onClose }: Omit<DeleteAccountDialogProps, 'opened'>) {
  const { t } = useLingui();
  const [, navigate] = useLocation();
  const [name, setName] = useState('');
  const deletion = useMutation({
    mutationFn: () => deleteAccount(account.id, name),
    onSuccess: async () => {
      navigate('/platform/accounts');
      await refetchAccounts();
    },
  });
  return (
    <DialogForm
      submitLabel={t`Delete account`}
      color="red"
      error={deletion.error}
      isPending={deletion.isPending}
      checks={{ name: name !== account.name && t`Type the name of the account.` }}
      onSubmit={() => deletion.mutate()}
      onCancel={onClose}
    >
      <Text>
        <Trans>
          Requests using its keys fail immediately. Members, sessions, webhook endpoints, request logs and usage are
          deleted. This can't be undone.
        </Trans>
      </Text>
      <NameField name={account.name} value={name} onChange={setName} />
    </DialogForm>
  );
}

interface NameFieldProps {
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function NameField({ name, value, onChange }: NameFieldProps) {
  const { t } = useLingui();
  return (
    <TextInput
      label={t`Name of the account`}
      description={t`Type ${isolateName(name)} to confirm.`}
      maxLength={200}
      data-autofocus
      autoComplete="off"
      value={value}
      error={useFieldError('name')}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
