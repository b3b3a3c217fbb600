/** Confirms identity at an identity provider in a separate window, so that form values on this page stay. */
import { Button, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, unwrap } from '../api/client.js';
import { Failure } from '../words/failure.js';
import { Frame } from './frame.js';
import { useMe } from './session.js';
import { useSignInMethods } from './sign-in-methods.js';

/** Interval for checking whether the window has returned, in milliseconds. */
export const ASK_AGAIN_MS = 1_500;
const WINDOW = 'popup,width=520,height=720';
/** Path to which the provider's window returns. */
export const CONFIRMED_PAGE = '/confirmed';

export function ProviderConfirm({ onConfirmed }: { readonly onConfirmed: () => void }) {
  const { t } = useLingui();
  const { session } = useMe();
  const before = session?.confirmed_until;
  const ways = useSignInMethods();
  const own = useQuery({ queryKey: ['identities'], queryFn: () => unwrap(api.GET('/admin/v1/me/identities')) });
  const linked = new Set(own.data?.data.map(({ provider }) => provider));
  const begin = useMutation({ gcTime: 0, mutationFn: (id: string) => openProvider(id, 'confirm') });
  const isOpen = begin.data === true;
  useEffect(() => {
    if (!isOpen) return undefined;
    // The window shows another site meanwhile and cannot message this page.
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
              {t`Sign in again with ${label}`}
            </Button>
          ),
      )}
      <WindowState isOpen={begin.data} />
      {begin.error !== null && <Failure error={begin.error} />}
    </Stack>
  );
}

/** Says that the page waits for the window, or that the browser blocked it; nothing before a click. */
export function WindowState({ isOpen }: { readonly isOpen: boolean | undefined }) {
  if (isOpen === undefined) return null;
  return isOpen ? (
    <Text size="sm" role="status">
      <Trans>Complete the sign-in in the new window. This page continues automatically.</Trans>
    </Text>
  ) : (
    <Text size="sm" role="alert">
      <Trans>Your browser blocked the window. Allow pop-ups for this page and try again.</Trans>
    </Text>
  );
}

/**
 * Opens an identity provider in a separate window. Call it directly in a click handler, or the browser blocks it.
 * @returns false if the browser blocked the window.
 */
export async function openProvider(provider: string, purpose: 'confirm' | 'sign_in'): Promise<boolean> {
  const opened = window.open('', '_blank', WINDOW);
  try {
    const { url } = await unwrap(
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

/** Page that the window shows on return. */
export function ConfirmedPage() {
  const { t } = useLingui();
  const isRefused = new URLSearchParams(location.search).has('problem');
  return (
    <Frame title={isRefused ? t`Not confirmed` : t`Confirmed`}>
      <Text>
        {isRefused ? (
          <Trans>
            You signed in as someone else, or too long ago. Close this window and try again in the other one.
          </Trans>
        ) : (
          <Trans>Close this window and continue in the other one.</Trans>
        )}
      </Text>
    </Frame>
  );
}
