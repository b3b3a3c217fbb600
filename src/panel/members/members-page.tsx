/**
 * Page that lists the members of an account. Owners and admins also see pending invitations, invite people, change
 * roles and remove members.
 */
import { Badge, Button, Card, Group, Select, Text, Title } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Role } from '../../members/permissions.js';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/queries.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { Lines, PagedList } from '../layout/paged-list.js';
import { showUndo } from '../layout/toasts.js';
import { ShowMore } from '../layout/show-more.js';
import { useAccount, useCan, useCanAssignRole } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { isolateName } from '../words/isolated.js';
import { useFormats } from '../words/times.js';
import { InviteDialog } from './invite-dialog.js';
import { RemoveDialog } from './remove-dialog.js';
import { ResendDialog, type Invitation } from './resend-dialog.js';
import { RoleDialog } from './role-dialog.js';
import { useRoleChoice, useRoleLabels } from './roles.js';

type Member = components['schemas']['AccountMember'];

const PAGE_SIZE = 100;
const refetchMembers = (accountId: string) => queries.invalidateQueries({ queryKey: ['account', accountId, 'people'] });

export function MembersPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const may = useCan();
  const [isInviting, setInviting] = useState(false);
  const members = usePages(
    ['account', id, 'people', 'members'],
    (query, signal) => unwrap(api.GET('/admin/v1/accounts/{id}/members', { params: { path: { id }, query }, signal })),
    { size: PAGE_SIZE },
  );
  return (
    <Page
      title={t`Members`}
      description={
        <Trans>Owners have full access. Admins manage keys and members. Viewers have read-only access.</Trans>
      }
      actions={
        may('createInvitation') && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setInviting(true)}>
            <Trans>Invite member</Trans>
          </Button>
        )
      }
    >
      <PagedList
        list={members}
        empty={
          <Lines>
            <li className="line">
              <Text c="dimmed">
                <Trans>No members yet.</Trans>
              </Text>
            </li>
          </Lines>
        }
      >
        {(people) => (
          <Lines>
            {people.map((member) => (
              <MemberLine key={member.id} member={member} />
            ))}
          </Lines>
        )}
      </PagedList>
      {may('listInvitations') && <Invitations />}
      <InviteDialog opened={isInviting} onClose={() => setInviting(false)} onCreated={() => void refetchMembers(id)} />
    </Page>
  );
}

function MemberLine({ member }: { readonly member: Member }) {
  const { t } = useLingui();
  const { id, time_zone: timeZone } = useAccount();
  const { relative } = useFormats(timeZone);
  const may = useCan();
  const canGrant = useCanAssignRole();
  const words = useRoleLabels();
  const roles = useRoleChoice();
  const [isRemoving, setRemoving] = useState(false);
  // Limits the change to the displayed version. The API rejects the change if someone else changed the member in the
  // meantime.
  const ifUnchanged = {
    params: { path: { id, member_id: member.id } },
    headers: { 'If-Match': `"${member.version}"` },
  };
  const [newRole, setNewRole] = useState<Role | null>(null);
  const setRole = (role: Role, options: object) =>
    unwrap(
      api.PATCH('/admin/v1/accounts/{id}/members/{member_id}', {
        params: ifUnchanged.params,
        ...options,
        body: { role },
      }),
    );
  const change = async (role: Role): Promise<void> => {
    try {
      await setRole(role, { headers: ifUnchanged.headers });
    } finally {
      await refetchMembers(id);
    }
    const [before, now] = [member.role, words[role]];
    showUndo(t`The role of ${alone} is now ${now}.`, async () => {
      await setRole(before, {});
      await refetchMembers(id);
    });
  };
  const name = member.name || member.email;
  const alone = isolateName(name);
  const lastSeen = member.last_signed_in_at === null ? t`Never signed in` : relative(member.last_signed_in_at);
  return (
    <li className="line">
      <Group justify="space-between" gap="md">
        <div>
          <Text fw={600} className="name">
            {name}
          </Text>
          <Text size="sm" c="dimmed">
            <bdi className="name">{member.email}</bdi> · {lastSeen}
          </Text>
        </div>
        {may('updateAccountMember') && canGrant(member.role) ? (
          <Group gap="sm">
            <Select
              w={170}
              aria-label={t`Role of ${name}`}
              allowDeselect={false}
              data={roles}
              value={member.role}
              onChange={(role) => role !== null && role !== member.role && setNewRole(role)}
            />
            <Button variant="default" onClick={() => setRemoving(true)} aria-label={t`Remove ${name}`}>
              <Icon name="trash" size={16} />
            </Button>
          </Group>
        ) : (
          <Badge variant="light">{words[member.role]}</Badge>
        )}
      </Group>
      <RoleDialog name={alone} role={member.role} wanted={newRole} onClose={() => setNewRole(null)} change={change} />
      <RemoveDialog member={member} opened={isRemoving} onClose={() => setRemoving(false)} />
    </li>
  );
}

/** Invitations lists the invitations that were neither accepted nor revoked, and have not expired. */
function Invitations() {
  const { t } = useLingui();
  const { id, time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const may = useCan();
  const canGrant = useCanAssignRole();
  const words = useRoleLabels();
  // The API also lists closed invitations. A page without any open invitation can therefore precede a page with some.
  const invitations = usePages(
    ['account', id, 'people', 'invitations'],
    (query, signal) =>
      unwrap(api.GET('/admin/v1/accounts/{id}/invitations', { params: { path: { id }, query }, signal })),
    { size: PAGE_SIZE },
  );
  const [resending, setResending] = useState<Invitation | null>(null);
  const revoke = useMutation({
    mutationFn: (invitation: string) =>
      unwrap(api.DELETE('/admin/v1/invitations/{id}', { params: { path: { id: invitation } } })),
    onSettled: () => refetchMembers(id),
  });
  if (invitations.error !== null && invitations.data === undefined)
    return <Failure error={invitations.error} again={() => void invitations.refetch()} />;
  const open = invitations.data?.pages.flatMap(({ data }) => data.filter(({ status }) => status === 'open')) ?? [];
  if (open.length === 0 && !invitations.hasNextPage) return null;
  return (
    <Card>
      <Title order={2} pb="sm">
        <Trans>Pending invitations</Trans>
      </Title>
      {revoke.error !== null && <Failure error={revoke.error} />}
      {open.map((invitation) => (
        <Group key={invitation.id} justify="space-between" py={6}>
          <Text>
            <bdi className="name">{invitation.email}</bdi> · {words[invitation.role]} ·{' '}
            <Trans>until {date(invitation.expires_at)}</Trans>
          </Text>
          {may('revokeInvitation') && canGrant(invitation.role) && (
            <Group gap="xs">
              <Button
                size="xs"
                variant="default"
                aria-label={t`Resend the invitation of ${invitation.email}`}
                onClick={() => setResending(invitation)}
              >
                <Trans>Resend</Trans>
              </Button>
              <Button
                size="xs"
                variant="default"
                aria-label={t`Revoke invitation of ${invitation.email}`}
                onClick={() => revoke.mutate(invitation.id)}
              >
                <Trans>Revoke invitation</Trans>
              </Button>
            </Group>
          )}
        </Group>
      ))}
      {open.length === 0 && (
        <Text c="dimmed" pb="sm">
          <Trans>The latest invitations are all accepted or expired.</Trans>
        </Text>
      )}
      <ShowMore list={invitations} />
      <ResendDialog
        invitation={resending}
        onClose={() => setResending(null)}
        onCreated={() => void refetchMembers(id)}
      />
    </Card>
  );
}
