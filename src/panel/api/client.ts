/** The admin API as its own description types it. The cookie goes with each request; nothing else signs in here. */
import createClient from 'openapi-fetch';
import type { paths } from './admin-api.js';

export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin' });
