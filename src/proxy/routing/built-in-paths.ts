/**
 * What the gateway answers itself: pages of the reference, and what stands below the base path beside the operations.
 */
import { ERRORS } from '../../platform/problems/errors.js';

/** Where the pages of the reference live; `type` of a problem leads below it. */
export const REFERENCE_ROOT = '/docs';

/** Where the public keys of webhooks are; no base path begins with a dot. */
export const PUBLIC_KEYS_PATH = '/.well-known/webhooks/public-keys';

const PAGES: ReadonlySet<string> = new Set(['', '/guide', '/webhooks', '/errors', '/versioning', '/assets/pages.css']);
const ERROR_PAGE = `${REFERENCE_ROOT}/errors/`;
const SCRIPT = `${REFERENCE_ROOT}/assets/`;

/** Whether the reference has something at a path. Scripts of its pages are taken for granted, by whatever name. */
export function isReferencePage(path: string): boolean {
  if (path === PUBLIC_KEYS_PATH) return true;
  if (!path.startsWith(REFERENCE_ROOT)) return false;
  if (path.startsWith(ERROR_PAGE)) return Object.hasOwn(ERRORS, path.slice(ERROR_PAGE.length));
  return path.startsWith(SCRIPT) || PAGES.has(path.slice(REFERENCE_ROOT.length));
}

/** What the gateway answers itself below its base path, all of it, relative to the base path, with the methods. */
export const BUILT_IN_PATHS: ReadonlyMap<string, readonly string[]> = new Map([
  ['/usage', ['GET']],
  ['/openapi.json', ['GET']],
]);
