/**
 * Dialog that removes a member from the account. The dialog first lists which of the member's credentials stop working
 * and which keep working.
 */
import { Anchor, Button, Group, List, Skeleton, Stack, Text } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { queries } from '../api/queries.js';
import { Dialog } from '../layout/dialog.js';
import { useAccount } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { isolateName } from '../words/isolated.js';

type Member = components['schemas']['AccountMember'];
type Credentials = components['schemas']['MemberCredentials'];
type Item = Credentials['ended'][number] | Credentials['kept'][number];

interface RemoveDialogProps {
  readonly member: Member;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function RemoveDialog({ member, opened, onClose }: RemoveDialogProps) {
  const { t } = useLingui();
  const { id } = useAccount();
  const path = { id, member_id: member.id };
  const impact = useQuery({
    queryKey: ['account', id, 'people', 'impact', member.id],
    queryFn: () => unwrap(api.GET('/admin/v1/accounts/{id}/members/{member_id}/impact', { params: { path } })),
    enabled: opened,
    // Without a cache, each opening of the dialog refetches the data.
    gcTime: 0,
  });
  const remove = useMutation({
    mutationFn: () =>
      unwrap(
        api.DELETE('/admin/v1/accounts/{id}/members/{member_id}', {
          params: { path },
          headers: { 'If-Match': `"${member.version}"` },
        }),
      ),
    onSuccess: onClose,
    // The removal also ends access tokens and assistants of the member. Refetch all data of the account.
    onSettled: () => queries.invalidateQueries({ queryKey: ['account', id] }),
  });
  const alone = isolateName(member.name || member.email);
  return (
    <Dialog opened={opened} title={t`Remove ${alone}?`} onClose={onClose}>
      <Stack gap="lg">
        <Text>
          <Trans>They lose access to this account immediately. Only a new invitation lets them back in.</Trans>
        </Text>
        {impact.isPending && <Skeleton h={90} />}
        {impact.data !== undefined && <Impact credentials={impact.data} />}
        {impact.error !== null && (
          <Stack gap="xs">
            <Text size="sm">
              <Trans>Couldn't load what they created. You can still remove them.</Trans>
            </Text>
            <Failure error={impact.error} again={() => void impact.refetch()} />
          </Stack>
        )}
        {remove.error !== null && <Failure error={remove.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            <Trans>Cancel</Trans>
          </Button>
          <Button color="red" loading={remove.isPending} disabled={impact.isPending} onClick={() => remove.mutate()}>
            <Trans>Remove</Trans>
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function Impact({ credentials: { ended, kept, kept_has_more: hasMore } }: { readonly credentials: Credentials }) {
  const { id } = useAccount();
  return (
    <>
      <Items title={<Trans>These stop working:</Trans>} items={ended} hasMore={false} />
      <Items title={<Trans>They created these, which keep working:</Trans>} items={kept} hasMore={hasMore} />
      {kept.length > 0 && (
        <Text size="sm" c="dimmed">
          <Trans>
            API keys and webhook endpoints belong to the account. If they know a secret, rotate it on{' '}
            <Anchor component={Link} href={`/${id}/api-keys`}>
              API keys
            </Anchor>{' '}
            or{' '}
            <Anchor component={Link} href={`/${id}/webhooks`}>
              Webhooks
            </Anchor>
            .
          </Trans>
        </Text>
      )}
    </>
  );
}

/** Maximum number of rows in each list, to keep the dialog readable. */
const MAX_SHOWN = 10;

interface ItemsProps {
  readonly title: ReactNode;
  readonly items: readonly Item[];
  /** Whether the API returned only part of the list. */
  readonly hasMore: boolean;
}

function Items({ title, items, hasMore }: ItemsProps) {
  const { t } = useLingui();
  if (items.length === 0) return null;
  const words: Readonly<Record<Item['type'], string>> = {
    account_token: t`Access token`,
    invitation: t`Invitation`,
    oauth_grant: t`AI assistant`,
    password_link: t`Password link`,
    portal_session: t`Portal session`,
    api_key: t`API key`,
    webhook_endpoint: t`Webhook endpoint`,
  };
  const more = items.length - MAX_SHOWN;
  return (
    <div>
      <Text fw={600}>{title}</Text>
      <List size="sm">
        {items.slice(0, MAX_SHOWN).map(({ id, type, name }) => (
          <List.Item key={id} className="name">
            {words[type]}
            {name !== '' && (
              <>
                : <bdi>{name}</bdi>
              </>
            )}
          </List.Item>
        ))}
        {more > 0 && (
          <List.Item>
            {hasMore ? <Trans>and more</Trans> : <Plural value={more} one="and # more" other="and # more" />}
          </List.Item>
        )}
      </List>
    </div>
  );
}
