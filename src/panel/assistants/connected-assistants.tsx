/** Section that lists the assistants that are connected with OAuth. Users can disconnect each of them. */
import { Anchor, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useCallback, useState } from 'react';
import { Link } from 'wouter';
import { useKeys, type Key } from '../api-keys/keys.js';
import { RevokeDialog } from '../api-keys/revoke-dialog.js';
import { useScopeLabels } from '../api-keys/scopes.js';
import { Status } from '../api-keys/status.js';
import { SecretLine } from '../layout/secret-frame.js';
import { Section } from '../layout/section.js';
import { ShowMore } from '../layout/show-more.js';
import { AuthorizedBy } from '../api-keys/oauth-client.js';
import { useAccount, useCan } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { Ago, useFormats } from '../words/times.js';

/**
 * ConnectedAssistants shows the URL that new assistants need, and lists the connected assistants.
 * @param url URL of the MCP server for assistants that sign in with OAuth.
 */
export function ConnectedAssistants({ url }: { readonly url: string }) {
  const { t } = useLingui();
  const { id } = useAccount();
  const keys = useKeys(id, { oauth_client: 'true', status: 'active,paused', sort: 'created', order: 'desc' });
  const rows = keys.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Section
      title={t`Connected with OAuth`}
      description={
        <Trans>
          For assistants that sign in with OAuth instead of a key. Give them this URL. You choose their permissions
          here.
        </Trans>
      }
    >
      <Stack gap="md">
        <SecretLine label={t`Address`} text={url} />
        {keys.data === undefined ? (
          keys.error === null ? (
            <Skeleton h={80} />
          ) : (
            <Failure error={keys.error} again={() => void keys.refetch()} />
          )
        ) : (
          <AssistantList keys={rows} />
        )}
        <ShowMore list={keys} />
      </Stack>
    </Section>
  );
}

function AssistantList({ keys }: { readonly keys: readonly Key[] }) {
  const [toRevoke, setToRevoke] = useState<Key | null>(null);
  const [isConfirming, setConfirming] = useState(false);
  const close = useCallback(() => setConfirming(false), []);
  return (
    <>
      {keys.length === 0 ? (
        <Text c="dimmed">
          <Trans>No assistants connected.</Trans>
        </Text>
      ) : (
        <Stack gap={0} component="ul" className="plain-list flush">
          {keys.map((key) => (
            <Row
              key={key.id}
              apiKey={key}
              onRevoke={() => {
                setToRevoke(key);
                setConfirming(true);
              }}
            />
          ))}
        </Stack>
      )}
      {toRevoke !== null && <RevokeDialog shown={toRevoke} opened={isConfirming} onClose={close} />}
    </>
  );
}

function Row({ apiKey: key, onRevoke }: { readonly apiKey: Key; readonly onRevoke: () => void }) {
  const account = useAccount();
  const may = useCan();
  const { t } = useLingui();
  const words = useScopeLabels();
  const { date } = useFormats(account.time_zone);
  const { name } = key;
  const { oauth_client: client } = key;
  const day = key.expires_at === null ? null : date(key.expires_at);
  return (
    <li className="line">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={4} flex="1 1 220px" miw={0}>
          <Group gap="xs">
            <Anchor component={Link} href={`/${account.id}/api-keys/${key.id}`} fw={600} className="name">
              {name}
            </Anchor>
            {key.status === 'paused' && <Status status={key.status} />}
          </Group>
          {client !== null && (
            <Text size="sm" c="dimmed" component="div">
              <div className="name">{client.host ?? <Trans>This name isn't verified.</Trans>}</div>
              <AuthorizedBy apiKey={key} client={client} />
            </Text>
          )}
          <Text size="sm" className="name">
            {key.scopes.map(words.short).join(' · ')}
          </Text>
          <Text size="sm" c="dimmed" component="div">
            {key.last_used_at === null ? (
              <Trans>Not used yet</Trans>
            ) : (
              <>
                <Trans>Last used:</Trans> <Ago at={key.last_used_at} timeZone={account.time_zone} />
              </>
            )}
            {day !== null && (
              <>
                {' · '}
                <span style={{ whiteSpace: 'nowrap' }}>
                  <Trans>until {day}</Trans>
                </span>
              </>
            )}
          </Text>
        </Stack>
        {may('revokeApiKey') && (
          <Button size="xs" variant="light" color="red" aria-label={t`Revoke ${name}`} onClick={onRevoke}>
            <Trans>Revoke</Trans>
          </Button>
        )}
      </Group>
    </li>
  );
}
