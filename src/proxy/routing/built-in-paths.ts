/**
 * Paths that the gateway serves itself: the reference pages, and endpoints below the base path beside the operations.
 */
import { ERRORS } from '../../platform/problems/errors.js';

/** Root of the reference pages. The `type` of a problem is a URL below it. */
export const REFERENCE_ROOT = '/docs';

/** Path of the public keys for webhooks. No base path begins with a dot. */
export const PUBLIC_KEYS_PATH = '/.well-known/webhooks/public-keys';

const PAGES: ReadonlySet<string> = new Set(['', '/guide', '/webhooks', '/errors', '/versioning', '/assets/pages.css']);
const API_PAGE = `${REFERENCE_ROOT}/apis/`;
const ERROR_PAGE = `${REFERENCE_ROOT}/errors/`;
const SCRIPT = `${REFERENCE_ROOT}/assets/`;

/** Reports whether the reference serves a path. Any name of a script or an API is accepted. */
export function isReferencePage(path: string): boolean {
  if (path === PUBLIC_KEYS_PATH) return true;
  if (!path.startsWith(REFERENCE_ROOT)) return false;
  if (path.startsWith(API_PAGE)) return path.length > API_PAGE.length && !path.includes('/', API_PAGE.length);
  if (path.startsWith(ERROR_PAGE)) return Object.hasOwn(ERRORS, path.slice(ERROR_PAGE.length));
  return path.startsWith(SCRIPT) || PAGES.has(path.slice(REFERENCE_ROOT.length));
}

/** Methods of the gateway's own endpoints, by path relative to the base path. */
export const BUILT_IN_PATHS: ReadonlyMap<string, readonly string[]> = new Map([
  ['/usage', ['GET']],
  ['/openapi.json', ['GET']],
]);
