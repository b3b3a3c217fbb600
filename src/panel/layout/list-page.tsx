/** Layout of a page with a list. The path of the page followed by `/new` opens the dialog that adds an item. */
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { Icon } from './icons.js';
import { Page } from './page.js';

interface ListPageProps {
  readonly title: string;
  readonly description: ReactNode;
  /** Path of the page, such as `/acc_…/api-keys`. */
  readonly home: string;
  readonly mayCreate: boolean;
  /** Label of the button that adds an item. */
  readonly createLabel: string;
  readonly dialog: (state: { readonly opened: boolean; readonly onClose: () => void }) => ReactNode;
  /** Renders the list. @param create button that opens the dialog; false if the user lacks the permission. */
  readonly children: (create: ReactNode) => ReactNode;
}

export function ListPage({ title, description, home, mayCreate, createLabel, dialog, children }: ListPageProps) {
  const [location, navigate] = useLocation();
  const create = mayCreate && (
    <Button component={Link} href={`${home}/new`} leftSection={<Icon name="plus" />}>
      {createLabel}
    </Button>
  );
  return (
    <Page title={title} description={description} actions={create}>
      {children(create)}
      {mayCreate && dialog({ opened: location === `${home}/new`, onClose: () => navigate(home, { replace: true }) })}
    </Page>
  );
}
