/**
 * Profile section in which the member sets up or removes the authenticator app, and replaces the recovery codes. The
 * app needs an encryption key of the installation.
 */
import { Badge, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { queries } from '../api/queries.js';
import { Section } from '../layout/section.js';
import { ConfirmDialog } from '../layout/confirm-dialog.js';
import { refetchMe } from '../session/session.js';
import { Failure } from '../words/failure.js';
import { NewCodesDialog } from './new-codes-dialog.js';
import { SetUpDialog } from './set-up-dialog.js';

type State = components['schemas']['SecondFactorState'];

const QUERY_KEY = ['own', 'second-factor'] as const;
/** Number of recovery codes below which the page shows their number in red. */
const FEW_CODES = 3;

const refetchSecondFactor = async (): Promise<void> => {
  await Promise.all([queries.invalidateQueries({ queryKey: QUERY_KEY }), refetchMe()]);
};

export function SecondFactor() {
  const { t } = useLingui();
  const state = useQuery({ queryKey: QUERY_KEY, queryFn: () => unwrap(api.GET('/admin/v1/me/second-factor')) });
  const [isSettingUp, setSettingUp] = useState(false);
  const isOn = state.data?.totp === true;
  return (
    <Section
      title={t`Authenticator app`}
      description={<Trans>Require a code from an authenticator app when you sign in with a password.</Trans>}
      actions={
        state.data?.offered === true &&
        !isOn && (
          <Button variant="default" onClick={() => setSettingUp(true)}>
            <Trans>Set up</Trans>
          </Button>
        )
      }
    >
      {state.error !== null && <Failure error={state.error} again={() => void state.refetch()} />}
      {state.isPending && <Skeleton h={28} w={200} />}
      {state.data !== undefined && <SecondFactorStatus state={state.data} />}
      <SetUpDialog opened={isSettingUp} onClose={() => setSettingUp(false)} onDone={refetchSecondFactor} />
    </Section>
  );
}

function SecondFactorStatus({ state }: { readonly state: State }) {
  const { t } = useLingui();
  const [open, setOpen] = useState<'remove' | 'codes' | null>(null);
  const left = state.recovery_codes_left;
  if (!state.totp)
    return (
      <Text size="sm" c="dimmed">
        {state.offered ? (
          <Trans>Not set up.</Trans>
        ) : (
          <Trans>This installation has no encryption key. Ask its operator to set one.</Trans>
        )}
      </Text>
    );
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Badge variant="light">
          <Trans>Active</Trans>
        </Badge>
        <Text size="sm" c={left < FEW_CODES ? 'red' : 'dimmed'} fw={left < FEW_CODES ? 600 : 400}>
          <Plural value={left} one="# recovery code left" other="# recovery codes left" />
        </Text>
      </Group>
      <Group gap="sm">
        <Button variant="default" size="sm" onClick={() => setOpen('codes')}>
          <Trans>New recovery codes</Trans>
        </Button>
        <Button variant="default" size="sm" onClick={() => setOpen('remove')}>
          <Trans>Remove the app</Trans>
        </Button>
      </Group>
      <NewCodesDialog opened={open === 'codes'} onClose={() => setOpen(null)} onDone={refetchSecondFactor} />
      <ConfirmDialog
        opened={open === 'remove'}
        title={t`Remove the authenticator app?`}
        confirmLabel={t`Remove`}
        onClose={() => setOpen(null)}
        onConfirm={async () => {
          await unwrap(api.DELETE('/admin/v1/me/totp'));
          await refetchSecondFactor();
        }}
      >
        <Trans>After that, you sign in with only your password. Your recovery codes stop working.</Trans>
      </ConfirmDialog>
    </Stack>
  );
}
