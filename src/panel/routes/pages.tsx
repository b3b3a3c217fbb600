/**
 * Components that the router's pages share: loading on demand, permission check, not-found page and loading indicator.
 */
import { Button, Center, Loader } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useEffect, useState, type ComponentType, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { OperationId } from '../../admin/openapi/operations.js';
import { Unreachable } from '../api/problem.js';
import { Empty } from '../layout/empty.js';
import { useCan } from '../session/accounts.js';

interface Loaded {
  readonly Page?: ComponentType;
  readonly error?: unknown;
}

/**
 * Returns a component that loads the code of a page when React first renders it. If loading fails, the component throws
 * `Unreachable`. React's `lazy` would show its fallback for at least 300 ms.
 */
export function lazyPage<Name extends string>(load: () => Promise<Record<Name, ComponentType>>, name: Name) {
  let cached: Loaded = {};
  return function LazyPage() {
    const [{ Page, error }, setLoaded] = useState(cached);
    useEffect(() => {
      if (cached.Page !== undefined) return;
      load().then(
        (loaded) => setLoaded((cached = { Page: loaded[name] })),
        (cause: unknown) => setLoaded({ error: new Unreachable(`The page ${name} could not be loaded`, { cause }) }),
      );
    }, []);
    if (error !== undefined) throw error;
    return Page === undefined ? <Waiting /> : <Page />;
  };
}

/** RequirePermission renders a page for users who can call the operation `to`. Other users see the not-found page. */
export function RequirePermission({ to, children }: { readonly to: OperationId; readonly children: ReactNode }) {
  const may = useCan();
  return may(to) ? children : <NotFoundPage home="/" />;
}

export function NotFoundPage({ home }: { readonly home: string }) {
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

/** Waiting is the loading indicator of a page. */
export function Waiting() {
  const { t } = useLingui();
  return (
    <Center mih={240}>
      <Loader aria-label={t`Loading`} />
    </Center>
  );
}
