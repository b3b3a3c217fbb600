/** Profile section with the member's active sessions, and buttons to end sessions other than the current session. */
import { Badge, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { queries } from '../api/queries.js';
import { Section } from '../layout/section.js';
import { ConfirmDialog } from '../layout/confirm-dialog.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { useUserAgentLabel } from './user-agent.js';

type Session = components['schemas']['Session'];

const QUERY_KEY = ['own', 'sessions'] as const;
const refetchSessions = () => queries.invalidateQueries({ queryKey: QUERY_KEY });

export function OwnSessions() {
  const { t } = useLingui();
  const [isEnding, setEnding] = useState(false);
  const sessions = useQuery({ queryKey: QUERY_KEY, queryFn: () => unwrap(api.GET('/admin/v1/me/sessions')) });
  const rows = sessions.data?.data ?? [];
  return (
    <Section
      title={t`Active sessions`}
      description={<Trans>Don't recognize one? Sign it out and change your password.</Trans>}
      actions={
        rows.length > 1 && (
          <Button variant="default" onClick={() => setEnding(true)}>
            <Trans>Sign out of all others</Trans>
          </Button>
        )
      }
    >
      {sessions.error !== null && <Failure error={sessions.error} again={() => void sessions.refetch()} />}
      {sessions.isPending && <Skeleton h={80} />}
      <Stack gap={0} component="ul" className="plain-list flush">
        {rows.map((session) => (
          <Line key={session.id} session={session} />
        ))}
      </Stack>
      <ConfirmDialog
        opened={isEnding}
        title={t`Sign out of all other sessions?`}
        confirmLabel={t`Sign out of all others`}
        onClose={() => setEnding(false)}
        onConfirm={async () => {
          await unwrap(api.DELETE('/admin/v1/me/sessions'));
          await refetchSessions();
        }}
      >
        <Trans>You'll need to sign in again on your other devices. This one stays signed in.</Trans>
      </ConfirmDialog>
    </Section>
  );
}

function useSignInMethodLabels(): Readonly<Record<Session['method'], string>> {
  const { t } = useLingui();
  return {
    password: t`with the password`,
    passkey: t`with a passkey`,
    oidc: t`with a linked sign-in`,
    link: t`with a link`,
    portal: t`from another site`,
  };
}

function Line({ session }: { readonly session: Session }) {
  const { t } = useLingui();
  const { relative, time } = useFormats();
  const program = useUserAgentLabel()(session.user_agent);
  const methods = useSignInMethodLabels();
  const { id, ip } = session;
  const end = useMutation({
    mutationFn: () => unwrap(api.DELETE('/admin/v1/sessions/{id}', { params: { path: { id } } })),
    onSettled: refetchSessions,
  });
  return (
    <li className="line">
      <Group justify="space-between" gap="sm">
        <div>
          <Group gap="xs">
            <Text fw={600} className="name" title={session.user_agent}>
              {program}
            </Text>
            {session.current && (
              <Badge variant="light" size="sm">
                <Trans>This device</Trans>
              </Badge>
            )}
          </Group>
          <Text size="sm" c="dimmed" className="name">
            {ip} · {methods[session.method]} · {time(session.created_at)} ·{' '}
            {session.current ? t`now` : t`last seen ${relative(session.last_seen_at)}`}
          </Text>
        </div>
        {!session.current && (
          <Button
            variant="default"
            size="sm"
            loading={end.isPending}
            aria-label={t`Sign out ${program}, ${ip}`}
            onClick={() => end.mutate()}
          >
            <Trans>Sign out</Trans>
          </Button>
        )}
      </Group>
      {end.error !== null && <Failure error={end.error} />}
    </li>
  );
}
