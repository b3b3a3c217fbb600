/**
 * Profile section that sets or changes the password. If the API requires a confirmation of the member's identity, the
 * gate dialog asks for it.
 */
import { Button, PasswordInput, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../api/client.js';
import { queries } from '../api/queries.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useFieldError } from '../layout/form-errors.js';
import { Section } from '../layout/section.js';
import { refetchMe, useMe } from '../session/session.js';

/**
 * Minimum length of a password in characters, without and with a second factor (NIST SP 800-63B-4). The API enforces
 * the same values.
 */
const MIN_LENGTH = 15;
const MIN_LENGTH_WITH_SECOND_FACTOR = 8;

export function Password() {
  const { t } = useLingui();
  const { member } = useMe();
  const [isOpen, setOpen] = useState(false);
  const [isDone, setDone] = useState(false);
  const has = member?.has_password === true;
  return (
    <>
      <Section
        title={t`Password`}
        description={
          has ? <Trans>Changing it signs you out of all other sessions.</Trans> : <Trans>No password set.</Trans>
        }
        actions={
          <Button
            variant="default"
            onClick={() => {
              setDone(false);
              setOpen(true);
            }}
          >
            {has ? t`Change password` : t`Set password`}
          </Button>
        }
      >
        {isDone ? (
          <Text size="sm" role="status">
            <Trans>Your new password is active. Your other sessions have ended.</Trans>
          </Text>
        ) : undefined}
      </Section>
      <Dialog
        opened={isOpen}
        title={has ? t`Change password` : t`Set password`}
        closeOnClickOutside={false}
        onClose={() => setOpen(false)}
      >
        <NewPassword
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            setDone(true);
          }}
        />
      </Dialog>
    </>
  );
}

interface NewPasswordProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function NewPassword({ onClose, onDone }: NewPasswordProps) {
  const { t } = useLingui();
  const { member } = useMe();
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const shortest = member?.has_totp === true ? MIN_LENGTH_WITH_SECOND_FACTOR : MIN_LENGTH;
  const change = useMutation({
    gcTime: 0,
    mutationFn: async () => {
      await unwrap(api.PUT('/admin/v1/me/password', { body: { password } }));
      await refetchMe();
      await queries.invalidateQueries({ queryKey: ['own', 'sessions'] });
    },
    onSuccess: onDone,
  });
  return (
    <DialogForm
      submitLabel={t`Save`}
      error={change.error}
      checks={{
        password: [...password].length < shortest && t`Use at least ${shortest} characters.`,
        again: again !== password && t`Passwords don't match.`,
      }}
      isPending={change.isPending}
      gap="md"
      onSubmit={() => change.mutate()}
      onCancel={onClose}
    >
      <input type="text" hidden readOnly autoComplete="username" value={member?.email ?? ''} />
      <NewPasswordFields
        password={password}
        again={again}
        shortest={shortest}
        onPassword={setPassword}
        onAgain={setAgain}
      />
    </DialogForm>
  );
}

interface NewPasswordFieldsProps {
  readonly password: string;
  /** The password as typed again for confirmation. */
  readonly again: string;
  readonly shortest: number;
  readonly onPassword: (password: string) => void;
  readonly onAgain: (again: string) => void;
}

function NewPasswordFields({ password, again, shortest, onPassword, onAgain }: NewPasswordFieldsProps) {
  const { t } = useLingui();
  const differs = again !== '' && again !== password;
  const againError = useFieldError('again');
  const common = {
    autoComplete: 'new-password',
    required: true,
    withAsterisk: false,
    visibilityToggleButtonProps: { 'aria-label': t`Show the password` },
  };
  return (
    <>
      <PasswordInput
        {...common}
        label={t`New password`}
        description={t`At least ${shortest} characters. Try several unrelated words.`}
        data-autofocus
        error={useFieldError('password')}
        value={password}
        onChange={(event) => onPassword(event.currentTarget.value)}
      />
      <PasswordInput
        {...common}
        label={t`Confirm password`}
        error={differs ? t`Passwords don't match.` : againError}
        value={again}
        onChange={(event) => onAgain(event.currentTarget.value)}
      />
    </>
  );
}
