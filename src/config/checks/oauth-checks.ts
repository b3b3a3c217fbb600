/** Checks that the authorization server has its own origin. `gateway.yaml` may have other problems. */
import type { ConfigProblem } from '../model/problem.js';
import type { SourceDocument } from '../source/source-document.js';
import { valueAt } from './schema-problems.js';

const PATH = ['mcp', 'oauth', 'publicUrl'];

/**
 * Returns a problem if `mcp.oauth.publicUrl` has the origin of `api.publicUrl` or `admin.url`.
 * @param value unvalidated `gateway.yaml`
 */
export function oauthProblems(source: SourceDocument, value: unknown): ConfigProblem[] {
  const oauthOrigin = originOf(valueAt(value, PATH));
  const others = [
    { setting: 'api.publicUrl', origin: originOf(valueAt(value, ['api', 'publicUrl'])) },
    { setting: 'admin.url', origin: originOf(valueAt(value, ['admin', 'url'])) },
  ];
  const same = others.find(({ origin }) => oauthOrigin !== undefined && origin === oauthOrigin);
  if (same === undefined) return [];
  // An assistant that finds OAuth metadata at an origin ignores the API key that the user configured for that origin.
  const hint = 'give it a name of its own, such as https://mcp.example.com';
  return [source.problem(PATH, `is the origin of ${same.setting}, too`, hint)];
}

function originOf(text: unknown): string | undefined {
  return typeof text === 'string' ? URL.parse(text)?.origin : undefined;
}
