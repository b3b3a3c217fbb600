/** Checks that the authorization server has its own origin. Works on a document with other problems. */
import type { ConfigProblem } from '../model/problem.js';
import type { SourceDocument } from '../source/source-document.js';
import { valueAt } from './schema-problems.js';

const PATH = ['mcp', 'oauth', 'publicUrl'];

/** Checks `mcp.oauth` against other settings. */
export function oauthProblems(source: SourceDocument, value: unknown): ConfigProblem[] {
  const own = originOf(valueAt(value, PATH));
  const others = [
    { setting: 'api.publicUrl', origin: originOf(valueAt(value, ['api', 'publicUrl'])) },
    { setting: 'admin.url', origin: originOf(valueAt(value, ['admin', 'url'])) },
  ];
  const same = others.find(({ origin }) => own !== undefined && origin === own);
  if (same === undefined) return [];
  // Assistants that find OAuth metadata ignore the API key that they were given.
  const hint = 'give it a name of its own, such as https://mcp.example.com';
  return [source.problem(PATH, `is the origin of ${same.setting}, too`, hint)];
}

function originOf(text: unknown): string | undefined {
  return typeof text === 'string' ? URL.parse(text)?.origin : undefined;
}
