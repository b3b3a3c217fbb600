/** Labels of roles, and the roles that the signed-in user can assign. */
import { useLingui } from '@lingui/react/macro';

import { ROLES, type Role } from '../../members/permissions.js';
import { useCanAssignRole } from '../session/accounts.js';

export function useRoleLabels(): Readonly<Record<Role, string>> {
  const { t } = useLingui();
  return { owner: t`Owner`, admin: t`Admin`, viewer: t`Viewer` };
}

/** Returns the roles that the signed-in user can assign in the current account, as options of a menu. */
export function useRoleChoice(): readonly { readonly value: Role; readonly label: string }[] {
  const words = useRoleLabels();
  const canGrant = useCanAssignRole();
  return ROLES.filter(canGrant).map((value) => ({ value, label: words[value] }));
}
