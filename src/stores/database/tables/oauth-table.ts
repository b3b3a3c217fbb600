/**
 * Defines the row type of the authorization server's table, which has pending requests, codes, refresh tokens and
 * registered clients. Only hashes of their identifiers are stored. Access tokens are secrets of a key, in
 * `api_key_secret`.
 */

/**
 * OAuthObjectTable has the objects of the authorization server. The columns must match `migrations/oauth-migration.ts`
 * and `oauth-origins-migration.ts`.
 */
export interface OAuthObjectTable {
  /** `AuthorizationCode`, `Interaction`, … */
  kind: string;
  /** SHA-256 of the code, token or ID that clients present, lower-case hex. */
  hash: string;
  /** ID of the key that the person granted. Null if there is none yet. */
  api_key_id: string | null;
  /** JSON, without the code, token or ID that clients present. */
  payload: string;
  /** When a single-use object was used. Null before. */
  consumed_at: number | null;
  expires_at: number;
  /**
   * Origin as in `ObjectOrigin`. `network`, `site` and `client` are empty if the object does not count toward the
   * limits.
   */
  network: string;
  site: string;
  client: string;
}
