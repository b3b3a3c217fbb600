/** Accepts an invitation by signing in at an identity provider that verified the invited address. */
import { Button } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.js';
import { Failure } from '../words/failure.js';
import { useSignInMethods } from './sign-in-methods.js';

export function ProviderJoin({ token }: { readonly token: string }) {
  const ways = useSignInMethods();
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
      {(ways.data?.providers ?? []).map(({ id, label }) => (
        <Button key={id} variant="default" size="md" loading={begin.isPending} onClick={() => begin.mutate(id)}>
          <Trans>Join with {label}</Trans>
        </Button>
      ))}
      {begin.error !== null && <Failure error={begin.error} />}
    </>
  );
}
