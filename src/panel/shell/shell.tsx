/** Layout of the pages after sign-in, except the consent page: account switcher, navigation and user menu. */
import { AppShell, Burger, Container, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { Account } from '../session/accounts.js';
import { AccountSwitcher } from './account-switcher.js';
import { Brand } from '../layout/brand.js';
import { PageBoundary } from './page-boundary.js';
import { SignInNotice } from './sign-in-notice.js';
import { Navigation } from './navigation.js';
import { UserMenu } from './user-menu.js';

interface ShellProps {
  /** The selected account. Null if there is none, or until it is loaded. */
  readonly account: Account | null;
  readonly children: ReactNode;
}

export function Shell({ account, children }: ShellProps) {
  const { t } = useLingui();
  const [location] = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure();
  return (
    <AppShell
      header={{ height: 64 }}
      navbar={{ width: 264, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a className="skip" href="#content">
        <Trans>Skip to content</Trans>
      </a>
      <AppShell.Header>
        <Group h="100%" px={{ base: 'sm', sm: 'lg' }} gap="sm" wrap="nowrap" justify="space-between">
          <Group gap="md" wrap="nowrap" miw={0}>
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={t`Pages`}
              aria-expanded={isOpen}
            />
            <Group visibleFrom="sm" w={196}>
              <Brand />
            </Group>
            {account !== null && <AccountSwitcher account={account} />}
          </Group>
          <UserMenu />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="md" style={{ overflowY: 'auto' }}>
        <Navigation accountId={account?.id ?? null} onGo={close} />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Container size={1120} px={0}>
          <SignInNotice />
          <PageBoundary at={location}>{children}</PageBoundary>
        </Container>
      </AppShell.Main>
    </AppShell>
  );
}
