/** Navigation of the panel. It lists only pages that the user can read. */
import { Box, NavLink, Stack, Text } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useId, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { OperationId } from '../../admin/openapi/operations.js';
import { mayCall } from '../session/permissions.js';
import { useMe } from '../session/session.js';
import { Icon, type IconName } from '../layout/icons.js';

interface Entry {
  readonly path: string;
  readonly icon: IconName;
  readonly label: string;
  /** Operation that the user must be allowed to call to see the page. */
  readonly needs: OperationId;
}

interface Section {
  /** Null if the area has only one section. */
  readonly title: string | null;
  readonly entries: readonly Entry[];
}

/** Returns the sections of an account. */
function useSettings(): readonly Section[] {
  const { t } = useLingui();
  return [
    {
      title: t`Developers`,
      entries: [
        { path: 'api-keys', icon: 'key', label: t`API keys`, needs: 'listApiKeys' },
        { path: 'usage', icon: 'usage', label: t`Usage`, needs: 'getUsage' },
        { path: 'webhooks', icon: 'webhook', label: t`Webhooks`, needs: 'listWebhookEndpoints' },
        { path: 'assistants', icon: 'assistant', label: t`AI assistants`, needs: 'listMcpTools' },
        { path: 'logs', icon: 'logs', label: t`Logs`, needs: 'listRequests' },
        { path: 'explain', icon: 'explain', label: t`Explain`, needs: 'explain' },
        { path: 'access-tokens', icon: 'lock', label: t`Access tokens`, needs: 'listAccountTokens' },
      ],
    },
    {
      title: t`Administration`,
      entries: [
        { path: 'members', icon: 'members', label: t`Members`, needs: 'listAccountMembers' },
        { path: 'audit-log', icon: 'audit', label: t`Audit log`, needs: 'listAuditLog' },
        { path: 'account', icon: 'account', label: t`Account`, needs: 'getAccount' },
      ],
    },
  ];
}

/** Returns the sections for operators. */
function usePlatform(): readonly Section[] {
  const { t } = useLingui();
  return [
    {
      title: null,
      entries: [
        { path: 'accounts', icon: 'accounts', label: t`Accounts`, needs: 'createAccount' },
        { path: 'adjustments', icon: 'adjust', label: t`Adjustments`, needs: 'listAllQuotaAdjustments' },
        { path: 'health', icon: 'health', label: t`Health`, needs: 'getHealth' },
      ],
    },
  ];
}

interface NavigationProps {
  readonly accountId: string | null;
  readonly onGo: () => void;
}

export function Navigation({ accountId, onGo }: NavigationProps) {
  const { t } = useLingui();
  const settings = useSettings();
  const platform = usePlatform();
  return (
    <Stack gap="lg" component="nav" aria-label={t`Pages`}>
      {accountId !== null && (
        <Area title={t`Settings`} sections={settings} root={`/${accountId}`} accountId={accountId} onGo={onGo} />
      )}
      <Area title={t`Platform`} sections={platform} root="/platform" accountId={null} onGo={onGo} />
    </Stack>
  );
}

interface AreaProps extends NavigationProps {
  readonly title: string;
  readonly sections: readonly Section[];
  /** Prefix of the pages' paths. */
  readonly root: string;
}

/** Renders an area with its sections; nothing if the user can see no page of it. */
function Area({ title, sections, root, accountId, onGo }: AreaProps) {
  const me = useMe();
  const id = useId();
  const shown = sections
    .map((section) => ({ ...section, entries: section.entries.filter(({ needs }) => mayCall(me, needs, accountId)) }))
    .filter(({ entries }) => entries.length > 0);
  if (shown.length === 0) return null;
  return (
    <Box role="group" aria-labelledby={id}>
      <Text id={id} fw={650} px="sm" pb="xs">
        {title}
      </Text>
      <Stack gap="md">
        {shown.map((section) => (
          <Entries key={section.title ?? ''} title={section.title}>
            {section.entries.map(({ path, icon, label }) => (
              <PageLink key={path} href={`${root}/${path}`} icon={icon} label={label} onGo={onGo} />
            ))}
          </Entries>
        ))}
      </Stack>
    </Box>
  );
}

function Entries({ title, children }: { readonly title: string | null; readonly children: ReactNode }) {
  const id = useId();
  if (title === null) return <Stack gap={2}>{children}</Stack>;
  return (
    <Box role="group" aria-labelledby={id}>
      <Text id={id} size="xs" fw={600} c="dimmed" px="sm" pb={4}>
        {title}
      </Text>
      <Stack gap={2}>{children}</Stack>
    </Box>
  );
}

interface PageLinkProps {
  readonly href: string;
  readonly icon: IconName;
  readonly label: string;
  readonly onGo: () => void;
}

function PageLink({ href, icon, label, onGo }: PageLinkProps) {
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
      py={8}
      bdrs="md"
    />
  );
}
