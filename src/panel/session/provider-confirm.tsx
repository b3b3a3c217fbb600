/**
 * Confirms the member's identity at an identity provider. The provider opens in a separate window, so that form values
 * on this page are not lost. If the browser blocks the window, the page says so.
 */
import { Button, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, unwrap } from '../api/client.js';
import { Failure } from '../words/failure.js';
import { Frame } from './frame.js';
import { useMe } from './session.js';
import { useSignInMethods } from './sign-in-methods.js';

/** Interval at which this page asks the API whether the sign-in in the other window is complete, in milliseconds. */
export const ASK_AGAIN_MS = 1_500;
const WINDOW_FEATURES = 'popup,width=520,height=720';
/** Path to which the API redirects the separate window after the sign-in at the identity provider. */
export const CONFIRMED_PAGE = '/confirmed';

export function ProviderConfirm({ onConfirmed }: { readonly onConfirmed: () => void }) {
  const { t } = useLingui();
  const { session } = useMe();
  const confirmedBefore = session?.confirmed_until;
  const methods = useSignInMethods();
  const identities = useQuery({ queryKey: ['identities'], queryFn: () => unwrap(api.GET('/admin/v1/me/identities')) });
  const linked = new Set(identities.data?.data.map(({ provider }) => provider));
  const begin = useMutation({ gcTime: 0, mutationFn: (id: string) => openProvider(id, 'confirm') });
  const isOpen = begin.data === true;
  useEffect(() => {
    if (!isOpen) return undefined;
    // Poll the API, because the other window shows another site and cannot send messages to this page.
    const timer = setInterval(() => {
      void api.GET('/admin/v1/me').then(({ data }) => {
        if (data?.session != null && data.session.confirmed_until !== confirmedBefore) onConfirmed();
      });
    }, ASK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isOpen, confirmedBefore, onConfirmed]);
  return (
    <Stack gap="xs">
      {(methods.data?.providers ?? []).map(
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

/**
 * Says that the page waits for the other window, or that the browser blocked the window.
 * @param isOpen result of `openProvider`; undefined before the click.
 */
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
 * Opens an identity provider in a separate window. Call this function directly in a click handler. Otherwise, the
 * browser blocks the window. Rejects if the API does not return the provider's URL.
 * @returns false if the browser blocked the window.
 */
export async function openProvider(provider: string, purpose: 'confirm' | 'sign_in'): Promise<boolean> {
  const opened = window.open('', '_blank', WINDOW_FEATURES);
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

/**
 * ConfirmedPage is the page that the separate window shows after the sign-in at the provider. It says whether the
 * sign-in confirmed the identity.
 */
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
