/**
 * Table of the authorization server: pending requests, codes, refresh tokens and registered clients. Only hashes of
 * their identifiers are stored. Access tokens are secrets of a key, in `api_key_secret`.
 */

/** Row of `oauth_object`. Must match `migrations/oauth-migration.ts` and `oauth-origins-migration.ts`. */
export interface OAuthObjectTable {
  /** `AuthorizationCode`, `Interaction`, … */
  kind: string;
  /** SHA-256 of the code, token or ID that clients present, lower-case hex. */
  hash: string;
  /** The key that was granted. Null if there is none yet. */
  api_key_id: string | null;
  /** JSON without the presented code, token or ID. */
  payload: string;
  /** When a single-use object was used. */
  consumed_at: number | null;
  expires_at: number;
  /** Origin as in `ObjectOrigin`. All three are empty if the object is not counted. */
  network: string;
  site: string;
  client: string;
}
