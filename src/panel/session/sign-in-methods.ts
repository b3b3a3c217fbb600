/** Reads the sign-in methods that the installation offers, such as passkeys and identity providers. */
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.js';

export const useSignInMethods = () =>
  useQuery({ queryKey: ['sign-in-methods'], queryFn: () => unwrap(api.GET('/admin/v1/sign-in')), staleTime: 60_000 });
