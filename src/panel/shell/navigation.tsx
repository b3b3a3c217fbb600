/** Navigation menu. It lists only the pages that the user can open. */
import { Box, NavLink, Stack, Text } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { useId, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { ACCOUNT_PAGES, OWN_PAGES, type PageRow } from '../routes/page-list.js';
import { mayCall } from '../session/permissions.js';
import { useMe } from '../session/session.js';
import { Icon, type IconName } from '../layout/icons.js';

interface NavigationProps {
  /** ID of the selected account. Null if none is selected. The menu then lists only the pages outside an account. */
  readonly accountId: string | null;
  /** Called when the user clicks a link, for example to close the menu on a phone. */
  readonly onGo: () => void;
}

export function Navigation({ accountId, onGo }: NavigationProps) {
  const { t } = useLingui();
  return (
    <Stack gap="lg" component="nav" aria-label={t`Pages`}>
      {accountId !== null && (
        <Area title={t`Settings`} pages={ACCOUNT_PAGES} root={`/${accountId}`} accountId={accountId} onGo={onGo} />
      )}
      <Area title={t`Platform`} pages={OWN_PAGES} root="" accountId={null} onGo={onGo} />
    </Stack>
  );
}

interface AreaProps extends NavigationProps {
  readonly title: string;
  readonly pages: readonly PageRow[];
  /** Prefix of the pages' paths, such as `/acc_…`. */
  readonly root: string;
}

/**
 * Area is a part of the menu with a title, grouped into sections. Renders nothing if the user can open none of its
 * pages.
 */
function Area({ title, pages, root, accountId, onGo }: AreaProps) {
  const me = useMe();
  const id = useId();
  const { i18n } = useLingui();
  const links = pages.flatMap(({ path, needs, entry }) =>
    entry !== undefined && mayCall(me, needs, accountId) ? [{ path, ...entry }] : [],
  );
  if (links.length === 0) return null;
  return (
    <Box role="group" aria-labelledby={id}>
      <Text id={id} fw={650} px="sm" pb="xs">
        {title}
      </Text>
      <Stack gap="md">
        {Array.from(
          Map.groupBy(links, ({ section }) => section),
          ([section, entries]) => (
            <Entries key={section?.id ?? ''} title={section === undefined ? null : i18n._(section)}>
              {entries.map(({ path, icon, label }) => (
                <PageLink key={path} href={`${root}/${path}`} icon={icon} label={i18n._(label)} onGo={onGo} />
              ))}
            </Entries>
          ),
        )}
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
