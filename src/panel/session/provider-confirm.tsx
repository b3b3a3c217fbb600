/** Confirms by a fresh sign-in at an identity provider, in a window of its own: what was typed on this page stays. */
import { Button, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, ask } from '../api/client.js';
import { Failure } from '../words/failure.js';
import { Frame } from './frame.js';
import { useMe } from './session.js';
import { useWays } from './ways.js';

/** How often the page that waits looks whether the window has come back. */
export const ASK_AGAIN_MS = 1_500;
const WINDOW = 'popup,width=520,height=720';
/** Where the provider's window comes back to. */
export const CONFIRMED_PAGE = '/confirmed';

export function ProviderConfirm({ onConfirmed }: { readonly onConfirmed: () => void }) {
  const { t } = useLingui();
  const { session } = useMe();
  const before = session?.confirmed_until;
  const ways = useWays();
  const own = useQuery({ queryKey: ['identities'], queryFn: () => ask(api.GET('/admin/v1/me/identities')) });
  const linked = new Set(own.data?.data.map(({ provider }) => provider));
  const begin = useMutation({ gcTime: 0, mutationFn: (id: string) => openProvider(id, 'confirm') });
  const isOpen = begin.data === true;
  useEffect(() => {
    if (!isOpen) return undefined;
    // The window is of another site on its way, and cannot tell this page anything.
    const timer = setInterval(() => {
      void api.GET('/admin/v1/me').then(({ data }) => {
        if (data?.session != null && data.session.confirmed_until !== before) onConfirmed();
      });
    }, ASK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isOpen, before, onConfirmed]);
  return (
    <Stack gap="xs">
      {(ways.data?.providers ?? []).map(
        ({ id, label }) =>
          linked.has(id) && (
            <Button key={id} variant="default" size="md" loading={begin.isPending} onClick={() => begin.mutate(id)}>
              {t`Sign in once more with ${label}`}
            </Button>
          ),
      )}
      <WindowState isOpen={begin.data} />
      {begin.error !== null && <Failure error={begin.error} />}
    </Stack>
  );
}

/** Says that the page waits for the window, or that the browser opened none; nothing before a button was pressed. */
export function WindowState({ isOpen }: { readonly isOpen: boolean | undefined }) {
  if (isOpen === undefined) return null;
  return isOpen ? (
    <Text size="sm" role="status">
      <Trans>Sign in in the window that has opened. This page waits for it and goes on by itself.</Trans>
    </Text>
  ) : (
    <Text size="sm" role="alert">
      <Trans>The browser did not open the window. Allow it for this page, then try again.</Trans>
    </Text>
  );
}

/**
 * Opens an identity provider in a window beside the page.
 * @returns False where the browser opens no window. It has to be opened at once: only what a person presses may.
 */
export async function openProvider(provider: string, purpose: 'confirm' | 'sign_in'): Promise<boolean> {
  const opened = window.open('', '_blank', WINDOW);
  try {
    const { url } = await ask(
      api.POST('/admin/v1/sign-in/providers/{provider}', {
        params: { path: { provider } },
        body: { purpose, return_to: CONFIRMED_PAGE },
      }),
    );
    opened?.location.assign(url);
    return opened !== null;
  } catch (error) {
    opened?.close();
    throw error;
  }
}

/** What the window shows when it is back. */
export function ConfirmedPage() {
  const { t } = useLingui();
  const isRefused = new URLSearchParams(location.search).has('problem');
  return (
    <Frame title={isRefused ? t`Not confirmed` : t`Confirmed`}>
      <Text>
        {isRefused ? (
          <Trans>
            The other side signed in somebody else, or not just now. Close this window and try again in the other one.
          </Trans>
        ) : (
          <Trans>Close this window and continue in the other one.</Trans>
        )}
      </Text>
    </Frame>
  );
}
