/** Operations of signing in, as agreed: until the description of the API has them. */
import type { Client } from 'openapi-fetch';
import type { components } from './admin-api.js';
import { api } from './client.js';

export type Me = components['schemas']['Me'];
export type SignIn = components['schemas']['SignIn'];
export type Link = components['schemas']['Link'];

interface Json<T> {
  readonly content: { readonly 'application/json': T };
}
interface Operation<Body, Response> {
  readonly requestBody: Json<Body>;
  readonly responses: { readonly 200: Json<Response> };
}

interface PendingPaths {
  '/admin/v1/sign-in/second-factor': { post: Operation<{ code: string } | { recovery_code: string }, SignIn> };
  '/admin/v1/sign-in/providers/{id}': {
    post: Operation<{ return_to?: string }, { url: string }> & { parameters: { path: { id: string } } };
  };
  '/admin/v1/password-resets': { post: Operation<{ email: string }, object> };
  '/admin/v1/confirmations': { post: Operation<{ password: string } | { code: string }, object> };
}

export const pending = api as unknown as Client<PendingPaths>;
