/**
 * The table of what the authorization server keeps for a while: requests that are under way, codes, refresh tokens,
 * registered clients. None of them stands in it by what it is presented by: only its hash. Access tokens are secrets of
 * a key, in `api_key_secret`.
 */

/** Row of `oauth_object`; matches `migrations/oauth-migration.ts`, `oauth-origins-migration.ts`. */
export interface OAuthObjectTable {
  /** `AuthorizationCode`, `Interaction`, … */
  kind: string;
  /** SHA-256 of what it is presented by, lower-case hex. */
  hash: string;
  /** The key that it leads to; null: none yet. */
  api_key_id: string | null;
  /** JSON, without what it is presented by. */
  payload: string;
  /** When it was used, of what works once. */
  consumed_at: number | null;
  expires_at: number;
  /** Who caused it, as `ObjectOrigin` has it; all three empty where nobody counts it. */
  network: string;
  site: string;
  client: string;
}
