/** Short names for types of the admin API's OpenAPI document. */
import type { components } from './admin-api.js';

export type Me = components['schemas']['Me'];
export type SignIn = components['schemas']['SignIn'];
export type Link = components['schemas']['Link'];
