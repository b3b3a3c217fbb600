/** What several pages read of the API's description, by short names. */
import type { components } from './admin-api.js';

export type Me = components['schemas']['Me'];
export type SignIn = components['schemas']['SignIn'];
export type Link = components['schemas']['Link'];
