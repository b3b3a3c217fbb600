/** Page of one API key: status, permissions, last use, and buttons to edit, rotate, pause and revoke the key. */
import { Alert, Anchor, Badge, Box, Button, Card, Code, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useCallback, useState, type ReactNode } from 'react';
import { Link, Redirect, useParams } from 'wouter';
import { hasEntries, Metadata } from '../layout/metadata.js';
import { useAccount, useCan } from '../session/accounts.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { now } from '../words/clock.js';
import { Failure } from '../words/failure.js';
import { LIMIT_PERIODS, useLimitLabels } from '../words/limits.js';
import { Ago, useFormats } from '../words/times.js';
import { EditDialog } from './edit-dialog.js';
import { KeyFailure } from './key-failure.js';
import { refetchKeys, resumeKey, updateKey, useImpact, useKey, type Key } from './keys.js';
import { ClientIdentity } from './oauth-client.js';
import { PauseDialog } from './pause-dialog.js';
import { PreviousSecret } from './previous-secret.js';
import { RevokeDialog } from './revoke-dialog.js';
import { RotateDialog } from './rotate-dialog.js';
import { useScopeLabels } from './scopes.js';
import { State, Status } from './status.js';

export function KeyPage() {
  const account = useAccount();
  const { key: id = '' } = useParams<{ key: string }>();
  const key = useKey(id);
  if (key.data === undefined)
    return key.error === null ? (
      <Skeleton h={240} radius="lg" />
    ) : (
      <Stack>
        <BackLink />
        <Failure error={key.error} again={() => void key.refetch()} />
      </Stack>
    );
  const { data, etag } = key.data;
  // The key belongs to another account. Redirect to the page of the key in that account.
  if (data.account_id !== account.id) return <Redirect to={`/${data.account_id}/api-keys/${id}`} replace />;
  return <KeyDetails shown={data} etag={etag} />;
}

function BackLink() {
  const { id } = useAccount();
  return (
    <Anchor
      component={Link}
      href={`/${id}/api-keys`}
      size="sm"
      display="inline-flex"
      mb="xs"
      style={{ gap: 4, alignItems: 'center' }}
    >
      <Icon name="left" size={16} />
      <Trans>All API keys</Trans>
    </Anchor>
  );
}

type DialogName = 'rotate' | 'pause' | 'revoke' | 'edit';

function KeyDetails({ shown, etag }: { readonly shown: Key; readonly etag: string | null }) {
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const close = useCallback(() => setDialog(null), []);
  return (
    <Page
      title={shown.name}
      above={<BackLink />}
      description={
        <Group gap="sm" component="span">
          <Status status={shown.status} />
          {shown.oauth_client === null ? <Code>{shown.hint}</Code> : <Badge variant="outline">OAuth</Badge>}
        </Group>
      }
      actions={<Actions shown={shown} onOpen={setDialog} />}
    >
      <State apiKey={shown} />
      {shown.status === 'active' && <UnusedScopes apiKey={shown} etag={etag} />}
      <PreviousSecret apiKey={shown} />
      <Facts apiKey={shown} />
      <RotateDialog shown={shown} etag={etag} opened={dialog === 'rotate'} onClose={close} />
      <PauseDialog shown={shown} opened={dialog === 'pause'} onClose={close} />
      <RevokeDialog shown={shown} opened={dialog === 'revoke'} onClose={close} />
      <EditDialog shown={shown} etag={etag} opened={dialog === 'edit'} onClose={close} />
    </Page>
  );
}

function Actions({ shown, onOpen }: { readonly shown: Key; readonly onOpen: (dialog: DialogName) => void }) {
  const may = useCan();
  const isRevoked = shown.status === 'revoked';
  const resume = useMutation({
    mutationFn: () => resumeKey(shown.id),
    onSettled: () => refetchKeys(shown.account_id, shown.id),
  });
  if (isRevoked) return null;
  return (
    <>
      {may('updateApiKey') && (
        <Button variant="default" leftSection={<Icon name="pencil" size={16} />} onClick={() => onOpen('edit')}>
          <Trans>Edit</Trans>
        </Button>
      )}
      {may('rotateApiKey') && shown.oauth_client === null && shown.status !== 'expired' && (
        <Button variant="default" leftSection={<Icon name="rotate" size={16} />} onClick={() => onOpen('rotate')}>
          <Trans>Rotate key</Trans>
        </Button>
      )}
      {may('pauseApiKey') && shown.status !== 'expired' && (
        <Button
          variant="default"
          loading={resume.isPending}
          leftSection={<Icon name={shown.status === 'paused' ? 'play' : 'pause'} size={16} />}
          onClick={() => (shown.status === 'paused' ? resume.mutate() : onOpen('pause'))}
        >
          {shown.status === 'paused' ? <Trans>Resume</Trans> : <Trans>Pause</Trans>}
        </Button>
      )}
      {may('revokeApiKey') && (
        <Button
          variant="light"
          color="red"
          leftSection={<Icon name="trash" size={16} />}
          onClick={() => onOpen('revoke')}
        >
          <Trans>Revoke</Trans>
        </Button>
      )}
      {resume.error !== null && (
        <Box flex="1 1 100%">
          <KeyFailure error={resume.error} />
        </Box>
      )}
    </>
  );
}

/** Minimum number of scopes that a key must keep. */
const MIN_SCOPES = 1;
/** Minimum age of a key before the page suggests removing scopes, in milliseconds. */
const MIN_KEY_AGE_MS = 7 * 86_400_000;

/**
 * UnusedScopes suggests removing the scopes that no request of the key needed in the last 30 days. Renders nothing for
 * keys younger than a week, or if no scope would remain.
 */
function UnusedScopes({ apiKey: key, etag }: { readonly apiKey: Key; readonly etag: string | null }) {
  const may = useCan();
  const words = useScopeLabels();
  const { time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const { data } = useImpact(key.id, true);
  const unused = data?.scopes_unused_30d ?? [];
  const remaining = key.scopes.filter((scope) => !unused.includes(scope));
  const removeUnused = useMutation({
    mutationFn: () => updateKey(key.id, { scopes: remaining }, etag),
    onSettled: () => refetchKeys(key.account_id, key.id),
  });
  if (unused.length === 0 || remaining.length < MIN_SCOPES || data === undefined || !may('updateApiKey')) return null;
  if (now().getTime() - Date.parse(key.created_at) < MIN_KEY_AGE_MS) return null;
  const since = date(`${data.scopes_since}T12:00:00Z`);
  const names = unused.map(words.short).join(' · ');
  return (
    <Alert variant="light" color="river">
      <Group justify="space-between">
        <Text size="sm" className="name">
          <Trans>
            Unused since {since}: <b>{names}</b>. Remove permissions this key doesn't need.
          </Trans>
        </Text>
        <Button size="xs" variant="default" loading={removeUnused.isPending} onClick={() => removeUnused.mutate()}>
          <Trans>Remove permissions</Trans>
        </Button>
      </Group>
      {removeUnused.error !== null && <Failure error={removeUnused.error} />}
    </Alert>
  );
}

function Facts({ apiKey: key }: { readonly apiKey: Key }) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { time, number } = useFormats(timeZone);
  const words = useScopeLabels();
  const limitWords = useLimitLabels();
  const limit = (value: number | null | undefined): string =>
    value === undefined ? t`plan default` : value === null ? t`none` : number(value);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <Card>
        <Fact label={t`Permissions`}>
          <Stack gap={6}>
            {key.scopes.map((scope) => (
              <Box key={scope}>
                <Text className="name">{words.long(scope)}</Text>
                <Text size="xs" c="dimmed" ff="monospace" className="name">
                  {scope}
                </Text>
              </Box>
            ))}
          </Stack>
        </Fact>
        <Fact label={t`Environment`}>
          {key.environment === 'live' ? t`Live – real customer data` : t`Test – for development`}
        </Fact>
        <Fact label={t`Addresses`}>
          {key.allowed_ips.length === 0 ? (
            <Trans>From anywhere</Trans>
          ) : (
            <span className="name">{key.allowed_ips.join(', ')}</span>
          )}
        </Fact>
      </Card>
      <Card>
        {key.oauth_client !== null && (
          <Fact label={t`Connected with OAuth`}>
            <ClientIdentity client={key.oauth_client} />
          </Fact>
        )}
        <Fact label={t`Last used`}>
          {key.last_used_at === null ? t`Never` : <Ago at={key.last_used_at} timeZone={timeZone} />}
        </Fact>
        <Fact label={t`Expiration`}>{key.expires_at === null ? t`No expiration` : time(key.expires_at)}</Fact>
        <Creation apiKey={key} />
        {key.revoked_at !== null && <Fact label={t`Revoked`}>{time(key.revoked_at)}</Fact>}
        {LIMIT_PERIODS.map((period) => (
          <Fact key={period} label={limitWords[period].requests}>
            {limit(key.limits?.[period])}
          </Fact>
        ))}
        {key.external_id !== null && (
          <Fact label={t`External ID`}>
            <span className="name">{key.external_id}</span>
          </Fact>
        )}
        {hasEntries(key.metadata) && (
          <Fact label={t`Metadata`}>
            <Metadata entries={key.metadata} />
          </Fact>
        )}
      </Card>
    </SimpleGrid>
  );
}

/** Creation shows when the key was created. For the key of an OAuth client, it also shows who authorized the client. */
function Creation({ apiKey: key }: { readonly apiKey: Key }) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const at = useFormats(timeZone).time(key.created_at);
  const member = key.oauth_client?.authorized_by ?? null;
  return (
    <Fact label={key.oauth_client === null ? t`Created` : t`Connected`}>
      {member === null ? (
        at
      ) : (
        <Trans>
          {at}, by <bdi>{member}</bdi>
        </Trans>
      )}
    </Fact>
  );
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Stack gap={4} py={8}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text component="div">{children}</Text>
    </Stack>
  );
}
