/** Profile section with the member's linked sign-ins at identity providers, and buttons to add and remove them. */
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { queries } from '../api/queries.js';
import { Icon } from '../layout/icons.js';
import { Section } from '../layout/section.js';
import { ConfirmDialog } from '../layout/confirm-dialog.js';
import { useMe } from '../session/session.js';
import { useSignInMethods } from '../session/sign-in-methods.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';

type Identity = components['schemas']['Identity'];

const QUERY_KEY = ['own', 'identities'] as const;

/** Identities renders nothing if the member has no linked sign-in and no provider is configured. */
export function Identities() {
  const { t } = useLingui();
  const methods = useSignInMethods();
  const identities = useQuery({ queryKey: QUERY_KEY, queryFn: () => unwrap(api.GET('/admin/v1/me/identities')) });
  const providers = methods.data?.providers ?? [];
  const own = identities.data?.data ?? [];
  const isRefused = new URLSearchParams(location.search).has('problem');
  if (identities.isSuccess && own.length === 0 && providers.length === 0) return null;
  return (
    <Section
      title={t`Linked sign-ins`}
      description={<Trans>Sign in with one click if you're already signed in there.</Trans>}
      actions={
        providers.length > 0 && providers.map((provider) => <LinkButton key={provider.id} provider={provider} />)
      }
    >
      {isRefused && (
        <Text size="sm" role="alert" c="red">
          <Trans>Another member uses that sign-in, or the provider rejected it.</Trans>
        </Text>
      )}
      {identities.error !== null && <Failure error={identities.error} again={() => void identities.refetch()} />}
      {identities.isPending && <Skeleton h={28} w={200} />}
      {identities.isSuccess && own.length === 0 && (
        <Text size="sm" c="dimmed">
          <Trans>No linked sign-ins yet.</Trans>
        </Text>
      )}
      {own.length > 0 && (
        <Stack gap={0} component="ul" className="plain-list flush">
          {own.map((identity) => (
            <Line key={identity.id} identity={identity} isLast={own.length === 1} />
          ))}
        </Stack>
      )}
    </Section>
  );
}

interface LinkButtonProps {
  readonly provider: { readonly id: string; readonly label: string };
}

function LinkButton({ provider: { id, label } }: LinkButtonProps) {
  const begin = useMutation({
    mutationFn: async () => {
      const { url } = await unwrap(
        api.POST('/admin/v1/sign-in/providers/{provider}', {
          params: { path: { provider: id } },
          body: { purpose: 'link', return_to: '/profile' },
        }),
      );
      location.assign(url);
    },
  });
  return (
    <Stack gap="xs">
      <Button
        variant="default"
        leftSection={<Icon name="plus" />}
        loading={begin.isPending || begin.isSuccess}
        onClick={() => begin.mutate()}
      >
        <Trans>Add {label}</Trans>
      </Button>
      {begin.error !== null && <Failure error={begin.error} />}
    </Stack>
  );
}

function Line({ identity, isLast }: { readonly identity: Identity; readonly isLast: boolean }) {
  const { t } = useLingui();
  const { member } = useMe();
  const { date } = useFormats();
  const [isRemoving, setRemoving] = useState(false);
  const { id, issuer, email } = identity;
  const host = hostOf(issuer);
  const added = date(identity.created_at);
  const hasOther = member?.has_password === true || (member?.passkeys ?? 0) > 0 || !isLast;
  return (
    <li className="line">
      <Group justify="space-between" gap="sm">
        <div>
          <Text fw={600} className="name">
            {email ?? host}
          </Text>
          <Text size="sm" c="dimmed" className="name">
            {host} · <Trans>Added on {added}</Trans>
          </Text>
        </div>
        <Button variant="default" size="sm" aria-label={t`Remove ${host}`} onClick={() => setRemoving(true)}>
          <Icon name="trash" size={16} />
        </Button>
      </Group>
      <ConfirmDialog
        opened={isRemoving}
        title={t`Remove ${host}?`}
        confirmLabel={t`Remove`}
        onClose={() => setRemoving(false)}
        onConfirm={async () => {
          await unwrap(api.DELETE('/admin/v1/me/identities/{id}', { params: { path: { id } } }));
          await queries.invalidateQueries({ queryKey: QUERY_KEY });
        }}
      >
        {hasOther ? (
          <Trans>You can't sign in with it anymore. Your other sign-in methods keep working.</Trans>
        ) : (
          <Trans>
            This is your only sign-in method. Set a password or add a passkey first, or you can't sign in again.
          </Trans>
        )}
      </ConfirmDialog>
    </li>
  );
}

/** Returns the host of an issuer URL. Returns an issuer that is not a URL unchanged. */
function hostOf(issuer: string): string {
  return URL.canParse(issuer) ? new URL(issuer).host : issuer;
}
