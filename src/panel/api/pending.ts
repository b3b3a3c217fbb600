/** Operations of signing in, as agreed: until the description of the API has them. */
import type { Client } from 'openapi-fetch';
import { api } from './client.js';

export interface Me {
  readonly member: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly locale: 'en' | 'es' | null;
    readonly is_operator: boolean;
    readonly has_password: boolean;
    readonly has_totp: boolean;
    readonly passkeys: number;
  } | null;
  readonly portal: { readonly account_id: string; readonly label: string; readonly return_url: string } | null;
  readonly accounts: {
    readonly id: string;
    readonly name: string;
    readonly role: 'owner' | 'admin' | 'viewer';
    readonly status: 'active' | 'suspended';
  }[];
  readonly csrf_token: string;
  readonly session: {
    readonly id: string;
    readonly idle_until: string;
    readonly ends_at: string;
    readonly confirmed_until: string;
  };
}

export type SignIn =
  | { readonly state: 'signed_in'; readonly me: Me }
  | { readonly state: 'second_factor'; readonly ways: string[]; readonly expires_at: string };

export interface SignInWays {
  readonly password: boolean;
  readonly passkey: boolean;
  readonly providers: { readonly id: string; readonly label: string }[];
  readonly mail: boolean;
  readonly first_owner: boolean;
}

export interface Link {
  readonly kind: 'first_owner' | 'invitation' | 'password_reset' | 'start' | 'portal';
  readonly account_name: string | null;
  readonly email: string | null;
  readonly role: string | null;
  readonly expires_at: string;
  readonly ways: string[];
}

interface Json<T> {
  readonly content: { readonly 'application/json': T };
}
interface Operation<Body, Response> {
  readonly requestBody: Json<Body>;
  readonly responses: { readonly 200: Json<Response> };
}
interface Reads<Response> {
  readonly responses: { readonly 200: Json<Response> };
}

interface PendingPaths {
  '/admin/v1/me': { get: Reads<Me> };
  '/admin/v1/sign-in': { get: Reads<SignInWays> };
  '/admin/v1/sign-in/password': { post: Operation<{ email: string; password: string }, SignIn> };
  '/admin/v1/sign-in/second-factor': { post: Operation<{ code: string } | { recovery_code: string }, SignIn> };
  '/admin/v1/sign-in/providers/{id}': {
    post: Operation<{ return_to?: string }, { url: string }> & { parameters: { path: { id: string } } };
  };
  '/admin/v1/sign-out': { post: Reads<undefined> };
  '/admin/v1/links/read': { post: Operation<{ token: string }, Link> };
  '/admin/v1/links/take': {
    post: Operation<{ token: string; name?: string; password?: string; locale?: string }, SignIn>;
  };
  '/admin/v1/password-resets': { post: Operation<{ email: string }, object> };
  '/admin/v1/confirmations': { post: Operation<{ password: string } | { code: string }, object> };
}

export const pending = api as unknown as Client<PendingPaths>;
