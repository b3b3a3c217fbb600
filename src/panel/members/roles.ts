/** What somebody may be in an account, in words. */
import { useLingui } from '@lingui/react/macro';

export const ROLES = ['owner', 'admin', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

export function useRoleWords(): Readonly<Record<Role, string>> {
  const { t } = useLingui();
  return { owner: t`Owner`, admin: t`Admin`, viewer: t`Viewer` };
}
