/** Loading and permission checks that all pages share. */
import { Button, Center, Loader } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useEffect, useState, type ComponentType, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { OperationId } from '../../admin/openapi/operations.js';
import { Unreachable } from '../api/problem.js';
import { Empty } from '../layout/empty.js';
import { useMay } from '../session/accounts.js';

interface Loaded {
  readonly Page?: ComponentType;
  readonly error?: unknown;
}

/** Loads a page on first use. Does not use `lazy`: React keeps a fallback on screen for at least 300 ms. */
export function lazyPage<Name extends string>(load: () => Promise<Record<Name, ComponentType>>, name: Name) {
  let kept: Loaded = {};
  return function LazyPage() {
    const [{ Page, error }, setLoaded] = useState(kept);
    useEffect(() => {
      if (kept.Page !== undefined) return;
      load().then(
        (loaded) => setLoaded((kept = { Page: loaded[name] })),
        (cause: unknown) => setLoaded({ error: new Unreachable(`The page ${name} could not be loaded`, { cause }) }),
      );
    }, []);
    if (error !== undefined) throw error;
    return Page === undefined ? <Waiting /> : <Page />;
  };
}

/** Renders a page for users who can call an operation; the others get the not-found page. */
export function Allowed({ to, children }: { readonly to: OperationId; readonly children: ReactNode }) {
  const may = useMay();
  return may(to) ? children : <NoSuchPage home="/" />;
}

export function NoSuchPage({ home }: { readonly home: string }) {
  const { t } = useLingui();
  return (
    <Empty
      isPage
      icon="search"
      title={t`Page not found`}
      text={t`It may have moved, or you don't have access.`}
      action={
        <Button component={Link} href={home}>
          <Trans>Go to home</Trans>
        </Button>
      }
    />
  );
}

export function Waiting() {
  const { t } = useLingui();
  return (
    <Center mih={240}>
      <Loader aria-label={t`Loading`} />
    </Center>
  );
}
