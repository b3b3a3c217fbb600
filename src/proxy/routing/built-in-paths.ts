/** Where the pages of the reference live; `type` of a problem leads below it. */
export const REFERENCE_ROOT = '/docs';

/** What the gateway answers itself below its base path, all of it, relative to the base path, with the methods. */
export const BUILT_IN_PATHS: ReadonlyMap<string, readonly string[]> = new Map([
  ['/usage', ['GET']],
  ['/openapi.json', ['GET']],
]);
