/** The pages, in the order in which they are listed; each only for those who may read what it shows. */
import { Box, NavLink, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link, useLocation } from 'wouter';
import type { OperationId } from '../../members/permissions.js';
import { mayCall } from '../session/permissions.js';
import { useMe } from '../session/session.js';
import { Icon, type IconName } from '../layout/icons.js';

interface Entry {
  readonly path: string;
  readonly icon: IconName;
  readonly label: string;
  readonly needs: OperationId;
}

function useEntries(): readonly Entry[] {
  const { t } = useLingui();
  return [
    { path: 'api-keys', icon: 'key', label: t`API keys`, needs: 'listApiKeys' },
    { path: 'usage', icon: 'usage', label: t`Usage`, needs: 'getUsage' },
    { path: 'logs', icon: 'logs', label: t`Logs`, needs: 'listRequests' },
    { path: 'explain', icon: 'explain', label: t`Explain`, needs: 'explain' },
    { path: 'audit-log', icon: 'audit', label: t`Audit log`, needs: 'listAuditLog' },
    { path: 'members', icon: 'members', label: t`Members`, needs: 'listAccountMembers' },
    { path: 'account', icon: 'account', label: t`Account`, needs: 'getAccount' },
  ];
}

interface NavigationProps {
  readonly accountId: string | null;
  readonly onGo: () => void;
}

export function Navigation({ accountId, onGo }: NavigationProps) {
  const { t } = useLingui();
  const me = useMe();
  const entries = useEntries().filter(({ needs }) => mayCall(me, needs, accountId));
  return (
    <Stack gap="lg" component="nav" aria-label={t`Pages`}>
      {accountId !== null && (
        <Section title={<Trans>Developers</Trans>}>
          {entries.map(({ path, icon, label }) => (
            <Entry key={path} href={`/${accountId}/${path}`} icon={icon} label={label} onGo={onGo} />
          ))}
        </Section>
      )}
    </Stack>
  );
}

function Section({ title, children }: { readonly title: React.ReactNode; readonly children: React.ReactNode }) {
  return (
    <Box>
      <Text size="xs" fw={600} c="dimmed" px="sm" pb={6}>
        {title}
      </Text>
      <Stack gap={2}>{children}</Stack>
    </Box>
  );
}

interface EntryProps {
  readonly href: string;
  readonly icon: IconName;
  readonly label: string;
  readonly onGo: () => void;
}

function Entry({ href, icon, label, onGo }: EntryProps) {
  const [location] = useLocation();
  const isHere = location === href || location.startsWith(`${href}/`);
  return (
    <NavLink
      component={Link}
      href={href}
      active={isHere}
      aria-current={isHere ? 'page' : undefined}
      color="river"
      label={label}
      leftSection={<Icon name={icon} />}
      onClick={onGo}
      fw={isHere ? 600 : 500}
      py={9}
      bdrs="md"
    />
  );
}
