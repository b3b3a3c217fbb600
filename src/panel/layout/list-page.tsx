/** Page with a list. At `/new` it shows the dialog that adds an item. */
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { Icon } from './icons.js';
import { Page } from './page.js';

interface ListPageProps {
  readonly title: string;
  readonly about: ReactNode;
  /** Path of the page. */
  readonly home: string;
  readonly mayCreate: boolean;
  /** Label of the button that adds an item. */
  readonly does: string;
  readonly dialog: (state: { readonly opened: boolean; readonly onClose: () => void }) => ReactNode;
  /** Renders the list. @param create the button that opens the dialog; false without permission. */
  readonly children: (create: ReactNode) => ReactNode;
}

export function ListPage({ title, about, home, mayCreate, does, dialog, children }: ListPageProps) {
  const [location, go] = useLocation();
  const create = mayCreate && (
    <Button component={Link} href={`${home}/new`} leftSection={<Icon name="plus" />}>
      {does}
    </Button>
  );
  return (
    <Page title={title} about={about} actions={create}>
      {children(create)}
      {mayCreate && dialog({ opened: location === `${home}/new`, onClose: () => go(home, { replace: true }) })}
    </Page>
  );
}
