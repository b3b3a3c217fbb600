/** Reads the YAML file of `trailgate apply`, which describes accounts with their API keys and webhook endpoints. */
import { resolve } from 'node:path';
import { z } from 'zod';
import { updateApiKeySchema } from '../../accounts/api-key-fields.js';
import { formatProblems } from '../../config/check.js';
import { schemaProblems } from '../../config/checks/schema-problems.js';
import { scalarProblems } from '../../config/checks/scalar-checks.js';
import type { Variables } from '../../config/model/variables.js';
import type { ConfigProblem, DocumentPath } from '../../config/model/problem.js';
import { SourceDocument } from '../../config/source/source-document.js';
import { substituteVariables } from '../../config/source/substitute.js';
import { DOCUMENT_BOUNDS } from '../../config/source/yaml-parse.js';
import { updateAccountSchema } from '../../records/account-fields.js';
import { plainText } from '../../records/plain-text.js';
import { updateWebhookEndpointSchema } from '../../webhooks/endpoints/endpoint-fields.js';
import { CommandError } from './admin-client.js';

const externalId = plainText(200).min(1, 'must not be empty');

const key = updateApiKeySchema.extend({
  external_id: externalId,
  environment: z.enum(['live', 'test']).optional(),
  status: z.enum(['active', 'paused']).optional(),
  secret: z.string().optional(),
  secret_sha256: z.string().optional(),
});

const endpoint = updateWebhookEndpointSchema.omit({ deliver: true }).extend({
  url: z.string().min(1, 'must not be empty'),
  status: z.enum(['enabled', 'paused']).optional(),
  secret: z.string().optional(),
});

const account = updateAccountSchema.extend({
  external_id: externalId,
  keys: z.array(key).superRefine(unique('external_id')).optional(),
  endpoints: z.array(endpoint).superRefine(unique('url')).optional(),
});

const applySchema = z.strictObject({ accounts: z.array(account).superRefine(unique('external_id')) });

export type DesiredAccount = z.output<typeof account>;
export type DesiredKey = z.output<typeof key>;
export type DesiredEndpoint = z.output<typeof endpoint>;

/** ApplyFile is a file that has passed all checks. */
export interface ApplyFile {
  readonly accounts: readonly DesiredAccount[];
  /** Returns the file and line of an entry, such as `customers.yaml:12`. */
  placeOf(path: DocumentPath): string;
}

/**
 * Reads and checks a file. Rejects with `CommandError` if the file cannot be read, or has problems. The message lists
 * all problems with their lines.
 * @param variables values for `${NAME}` in the file
 */
export async function readApplyFile(name: string, variables: Variables): Promise<ApplyFile> {
  const { source, problems, unreadable } = await SourceDocument.read(resolve(name), DOCUMENT_BOUNDS);
  if (unreadable !== undefined) throw new CommandError(`${name} cannot be read: ${unreadable.message}.`);
  if (source === undefined) throw invalidFile(name, problems);
  const { problems: unset, paths } = substituteVariables(source, variables);
  const value: unknown = source.toJS();
  const parsed = applySchema.safeParse(value);
  const issues = parsed.success ? [] : schemaProblems(parsed.error.issues, value, source, paths);
  const all = [...problems, ...scalarProblems(source), ...unset, ...issues];
  if (all.length > 0 || !parsed.success) throw invalidFile(name, all);
  return {
    accounts: parsed.data.accounts,
    placeOf: (path) => `${name}:${source.problem(path, '', '').line}`,
  };
}

function invalidFile(name: string, problems: readonly ConfigProblem[]): CommandError {
  return new CommandError(`${name} is not valid, so nothing was changed.\n${formatProblems(problems)}`);
}

/**
 * Returns a check for entries of an array. The check reports each entry whose field `name` repeats the value of an
 * earlier entry.
 */
function unique<Name extends string>(name: Name) {
  return (entries: readonly { readonly [Key in Name]: string }[], context: z.core.$RefinementCtx): void => {
    const seen = new Set<string>();
    for (const [index, entry] of entries.entries()) {
      if (seen.has(entry[name])) {
        context.issues.push({ code: 'custom', message: 'is repeated', path: [index, name], input: entry[name] });
      }
      seen.add(entry[name]);
    }
  };
}
