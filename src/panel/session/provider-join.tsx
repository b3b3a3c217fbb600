/**
 * Buttons with which an invited person joins by signing in at an identity provider. The provider must have verified the
 * invited email address.
 */
import { Button } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.js';
import { Failure } from '../words/failure.js';
import { useSignInMethods } from './sign-in-methods.js';

/**
 * ProviderJoin shows a button for each identity provider, and the error if a sign-in cannot start.
 * @param token token of the invitation link.
 */
export function ProviderJoin({ token }: { readonly token: string }) {
  const methods = useSignInMethods();
  const begin = useMutation({
    gcTime: 0,
    mutationFn: async (provider: string) => {
      const body = { purpose: 'invitation', token, return_to: '/' } as const;
      const path = { params: { path: { provider } }, body };
      location.assign((await unwrap(api.POST('/admin/v1/sign-in/providers/{provider}', path))).url);
    },
  });
  return (
    <>
      {(methods.data?.providers ?? []).map(({ id, label }) => (
        <Button key={id} variant="default" size="md" loading={begin.isPending} onClick={() => begin.mutate(id)}>
          <Trans>Join with {label}</Trans>
        </Button>
      ))}
      {begin.error !== null && <Failure error={begin.error} />}
    </>
  );
}
