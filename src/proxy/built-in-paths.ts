/** What the gateway answers itself, relative to the base path, with the methods. */
export const BUILT_IN_PATHS: ReadonlyMap<string, readonly string[]> = new Map([
  ['/usage', ['GET']],
  ['/openapi.json', ['GET']],
]);
