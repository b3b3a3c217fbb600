/** Dialog that asks for confirmation before a role change. The dialog says what members with the new role can do. */
import { Stack } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { ROLES, type Role } from '../../members/permissions.js';
import { ConfirmDialog } from '../layout/confirm-dialog.js';
import { useRoleLabels } from './roles.js';

interface RoleDialogProps {
  readonly name: string;
  readonly role: Role;
  /** New role of the member. Null: the dialog is closed. */
  readonly wanted: Role | null;
  readonly onClose: () => void;
  readonly change: (role: Role) => Promise<unknown>;
}

export function RoleDialog({ name, role, wanted, onClose, change }: RoleDialogProps) {
  const { t } = useLingui();
  const words = useRoleLabels();
  const newRole = wanted ?? role;
  const [was, becomes] = [words[role], words[newRole]];
  // `ROLES` lists the role with the most permissions first.
  const losesPermissions = ROLES.indexOf(newRole) > ROLES.indexOf(role);
  const descriptions: Readonly<Record<Role, string>> = {
    owner: t`Owners have full access. They can also manage and remove owners.`,
    admin: t`Admins manage API keys, webhooks and members, but not owners.`,
    viewer: t`Viewers have read-only access. They can't change API keys, webhooks or members.`,
  };
  return (
    <ConfirmDialog
      opened={wanted !== null}
      title={t`Change the role of ${name}?`}
      confirmLabel={t`Change role`}
      color={losesPermissions ? 'red' : 'river'}
      onClose={onClose}
      onConfirm={() => change(newRole)}
    >
      <Stack gap="sm">
        <span>
          <Trans>
            The role changes from {was} to <b>{becomes}</b> immediately.
          </Trans>
        </span>
        <span>{descriptions[newRole]}</span>
        {losesPermissions && (
          <span>
            <Trans>
              Access tokens, invitations and AI assistants that the new role doesn't allow stop working. API keys and
              webhooks that they created keep working.
            </Trans>
          </span>
        )}
      </Stack>
    </ConfirmDialog>
  );
}
