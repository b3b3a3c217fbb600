/** Defines the command line options for `external_id` and `metadata` of accounts and keys. */
import type { Fields } from './admin-client.js';
import { option } from './command-table.js';
import { collectMetadata } from './options.js';

/** Options that set `external_id` and `metadata`. */
export const EXTERNAL_FIELDS = [
  option('--external-id <id>', 'its id in your own system', 'external_id'),
  option('--metadata <name=value>', 'all entries of its metadata; may be repeated', 'metadata', {
    parse: collectMetadata,
  }),
];

/** Options that filter a list by `external_id` and `metadata`. */
export const EXTERNAL_FILTERS = [
  option('--external-id <id>', 'only the one with this id of your own system', 'external_id'),
  option('--metadata <name=value>', 'only those with this entry in their metadata', 'metadata'),
];

/** Options of updates that remove `external_id` or `metadata`. `removedFields` reads their values. */
export const NO_EXTERNAL_ID = option('--no-external-id', 'remove the external id', null);
export const NO_METADATA = option('--no-metadata', 'remove all metadata', null);

/** Returns the body fields for `--no-external-id` and `--no-metadata`. */
export function removedFields({
  externalId,
  metadata,
}: {
  readonly externalId?: unknown;
  readonly metadata?: unknown;
}): Fields {
  return {
    ...(externalId === false ? { external_id: null } : {}),
    ...(metadata === false ? { metadata: {} } : {}),
  };
}
