/**
 * Paths that the gateway serves itself: the reference pages, the public keys for webhooks, and its own endpoints below
 * the base path.
 */
import { ERRORS } from '../../platform/problems/errors.js';

/** Root of the reference pages. The `type` of a problem is a URL below this path. */
export const REFERENCE_ROOT = '/docs';

/** Path of the public keys for webhooks. Conflicts with no API, because no base path begins with a dot. */
export const PUBLIC_KEYS_PATH = '/.well-known/webhooks/public-keys';

const PAGES: ReadonlySet<string> = new Set(['', '/guide', '/webhooks', '/errors', '/versioning', '/assets/pages.css']);
const API_PAGE = `${REFERENCE_ROOT}/apis/`;
const ERROR_PAGE = `${REFERENCE_ROOT}/errors/`;
const ASSETS = `${REFERENCE_ROOT}/assets/`;

/** Reports whether a path is a reference page or the public keys. Does not check that the API or asset exists. */
export function isReferencePage(path: string): boolean {
  if (path === PUBLIC_KEYS_PATH) return true;
  if (!path.startsWith(REFERENCE_ROOT)) return false;
  if (path.startsWith(API_PAGE)) return path.length > API_PAGE.length && !path.includes('/', API_PAGE.length);
  if (path.startsWith(ERROR_PAGE)) return Object.hasOwn(ERRORS, path.slice(ERROR_PAGE.length));
  return path.startsWith(ASSETS) || PAGES.has(path.slice(REFERENCE_ROOT.length));
}

/** Methods of the gateway's own endpoints, by path relative to the base path. */
export const BUILT_IN_PATHS: ReadonlyMap<string, readonly string[]> = new Map([
  ['/usage', ['GET']],
  ['/openapi.json', ['GET']],
]);
