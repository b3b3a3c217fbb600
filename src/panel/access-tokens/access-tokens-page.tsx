/**
 * Page on which owners and admins list, create and revoke the access tokens of an account. The path
 * `/access-tokens/new` opens the dialog that creates a token.
 */
import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { Status } from '../api-keys/status.js';
import { Empty } from '../layout/empty.js';
import { ListPage } from '../layout/list-page.js';
import { Lines, PagedList } from '../layout/paged-list.js';
import { ConfirmDialog } from '../layout/confirm-dialog.js';
import { useRoleLabels } from '../members/roles.js';
import { useAccount, useCan } from '../session/accounts.js';
import { useActorLabel } from '../words/fields.js';
import { isolateName } from '../words/isolated.js';
import { Ago, useFormats } from '../words/times.js';
import { CreateDialog } from './create-dialog.js';
import { refetchTokens, revokeToken, useTokens, type Token } from './tokens.js';

export function AccessTokensPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const may = useCan();
  const tokens = useTokens(id);
  return (
    <ListPage
      title={t`Access tokens`}
      description={
        <Trans>
          Access tokens let scripts and deployment pipelines manage this account. A token stops working when the person
          who created it loses access.
        </Trans>
      }
      home={`/${id}/access-tokens`}
      mayCreate={may('createAccountToken')}
      createLabel={t`Create access token`}
      dialog={(state) => <CreateDialog {...state} />}
    >
      {(create) => (
        <PagedList
          list={tokens}
          empty={
            <Empty
              icon="lock"
              title={t`No access tokens yet`}
              text={t`Create one for the first program that manages this account.`}
              action={create}
            />
          }
        >
          {(rows) => (
            <Lines>
              {sortTokens(rows).map((token) => (
                <Row key={token.id} token={token} />
              ))}
            </Lines>
          )}
        </PagedList>
      )}
    </ListPage>
  );
}

/**
 * Sorts active tokens before expired and revoked tokens, and each group newest first. The API lists the oldest token
 * first.
 */
function sortTokens(tokens: readonly Token[]): readonly Token[] {
  const rank = ({ status }: Token): number => (status === 'active' ? 0 : 1);
  return tokens.toReversed().toSorted((one, other) => rank(one) - rank(other));
}

/**
 * Returns the label of each token status. The message context lets translations agree with the gender of the noun
 * "token".
 */
function useStatusLabels(): Readonly<Record<Token['status'], string>> {
  const { t } = useLingui();
  return {
    active: t({ message: 'Active', context: 'access token' }),
    expired: t({ message: 'Expired', context: 'access token' }),
    revoked: t({ message: 'Revoked', context: 'access token' }),
  };
}

function Row({ token }: { readonly token: Token }) {
  const { t } = useLingui();
  const { id: accountId, time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const may = useCan();
  const roles = useRoleLabels();
  const actorWords = useActorLabel();
  const words = useStatusLabels();
  const [isAsking, setAsking] = useState(false);
  const { name, status } = token;
  const creator = token.created_by_name ?? actorWords(token.created_by);
  const [created, expires] = [date(token.created_at), date(token.expires_at)];
  const alone = isolateName(name);
  return (
    <li className="line">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={4} flex="1 1 220px" miw={0}>
          <Group gap="xs">
            <Text fw={600} className="name">
              {name}
            </Text>
            <Status status={status} word={words[status]} />
            <Badge variant="light" color="gray">
              {roles[token.role]}
            </Badge>
          </Group>
          <Text size="sm" c="dimmed" translate="no">
            {token.hint}
          </Text>
          <Text size="sm" c="dimmed">
            <Trans>
              Created by <bdi className="name">{creator}</bdi> on {created}
            </Trans>
            {' · '}
            {status === 'expired' ? <Trans>Expired {expires}</Trans> : <Trans>Expires {expires}</Trans>}
          </Text>
          <Text size="sm" c="dimmed">
            {token.last_used_at === null ? (
              <Trans>Never used</Trans>
            ) : (
              <Trans>
                Last used <Ago at={token.last_used_at} timeZone={timeZone} />
              </Trans>
            )}
          </Text>
        </Stack>
        {status === 'active' && may('revokeAccountToken') && (
          <Button size="xs" variant="light" color="red" aria-label={t`Revoke ${name}`} onClick={() => setAsking(true)}>
            <Trans>Revoke</Trans>
          </Button>
        )}
      </Group>
      <ConfirmDialog
        opened={isAsking}
        title={t`Revoke ${alone}?`}
        confirmLabel={t`Revoke token`}
        onClose={() => setAsking(false)}
        onConfirm={async () => {
          await revokeToken(token);
          await refetchTokens(accountId);
        }}
      >
        <Trans>Requests using this token fail immediately. You can't undo this.</Trans>
      </ConfirmDialog>
    </li>
  );
}
