/** A new password. That it is the member who sets it is asked by the dialog over the page, not here. */
import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../api/client.js';
import { ApiProblem } from '../api/problem.js';
import { queries } from '../api/queries.js';
import { Dialog } from '../layout/dialog.js';
import { Section } from '../layout/section.js';
import { readMeAgain, useMe } from '../session/session.js';
import { Failure } from '../words/failure.js';

/** The least that is taken (NIST SP 800-63B-4): alone, and beside a second factor. */
const SHORTEST = 15;
const SHORTEST_WITH_SECOND_FACTOR = 8;

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
        about={has ? <Trans>A new one ends all your other sessions.</Trans> : <Trans>You have none.</Trans>}
        actions={
          <Button
            variant="default"
            onClick={() => {
              setDone(false);
              setOpen(true);
            }}
          >
            {has ? t`Change the password` : t`Set a password`}
          </Button>
        }
      >
        {isDone ? (
          <Text size="sm" role="status">
            <Trans>The new password is in force. Your other sessions have ended.</Trans>
          </Text>
        ) : undefined}
      </Section>
      <Dialog
        opened={isOpen}
        title={has ? t`Change the password` : t`Set a password`}
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
  const shortest = member?.has_totp === true ? SHORTEST_WITH_SECOND_FACTOR : SHORTEST;
  const change = useMutation({
    gcTime: 0,
    mutationFn: async () => {
      await ask(api.PUT('/admin/v1/me/password', { body: { password } }));
      await readMeAgain();
      await queries.invalidateQueries({ queryKey: ['own', 'sessions'] });
    },
    onSuccess: onDone,
  });
  const differs = again !== '' && again !== password;
  const weak = useWeakness(change.error, shortest);
  const common = {
    autoComplete: 'new-password',
    required: true,
    withAsterisk: false,
    visibilityToggleButtonProps: { 'aria-label': t`Show the password` },
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (again === password) change.mutate();
      }}
    >
      <Stack gap="md">
        <input type="text" hidden readOnly autoComplete="username" value={member?.email ?? ''} />
        <PasswordInput
          {...common}
          label={t`New password`}
          description={t`At least ${shortest} characters: a few words that only you would put together.`}
          minLength={shortest}
          data-autofocus
          error={weak}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <PasswordInput
          {...common}
          label={t`Once more`}
          error={differs ? t`This is not the same.` : undefined}
          value={again}
          onChange={(event) => setAgain(event.currentTarget.value)}
        />
        {change.error !== null && weak === undefined && <Failure error={change.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={change.isPending} disabled={again !== password}>
            <Trans>Save</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** What is wrong with the password, in the reader's language; the API says it in English. */
function useWeakness(error: unknown, shortest: number): string | undefined {
  const { t } = useLingui();
  if (!(error instanceof ApiProblem) || error.code !== 'validation_failed') return undefined;
  const detail = error.fields.find(({ field }) => field === 'password')?.detail ?? '';
  if (detail.includes('at least')) return t`It needs at least ${shortest} characters.`;
  if (detail.includes('at most')) return t`It is too long.`;
  return t`It is too easy to guess: do not make it of your name, your address or rows of keys.`;
}
