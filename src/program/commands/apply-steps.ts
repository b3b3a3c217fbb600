/**
 * Compares an account of a `trailgate apply` file with the existing account. Returns the steps that make the existing
 * account equal to the file.
 */
import type { DocumentPath } from '../../config/model/problem.js';
import { CommandError, type AdminClient, type Fields } from './admin-client.js';
import type { DesiredAccount, DesiredEndpoint, DesiredKey } from './apply-file.js';

/** Row limit that no account exceeds with its keys or endpoints. */
const ALL = 1_000_000;
/** Array fields whose order has no meaning. */
const SETS = new Set(['scopes', 'allowed_ips', 'event_types']);

/** FieldChange is a field with its old and new value. */
export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** Step is one change of an account, key or endpoint. */
export interface Step {
  /** `leave` means that a key or endpoint is missing in the file, but is kept because `--prune` was not given. */
  readonly action: 'create' | 'update' | 'remove' | 'leave';
  readonly type: 'account' | 'key' | 'endpoint';
  /** External ID of the account or key, or URL of the endpoint. */
  readonly name: string;
  readonly changes: readonly FieldChange[];
  /** Position in the file. For a key or endpoint that is not in the file, the position of its account. */
  readonly path: DocumentPath;
  /**
   * Runs the step. Rejects with `CommandError`.
   * @param accountId ID of the account, which an earlier step may have created
   * @returns the response body. It contains the ID, and the secret of a new key or endpoint.
   */
  run(client: AdminClient, accountId: string): Promise<Fields>;
}

/** AccountSteps are the steps for an account, in order. */
export interface AccountSteps {
  /** Undefined if the first step creates the account. */
  readonly accountId: string | undefined;
  readonly steps: readonly Step[];
  /** Entries of the file that no step can apply, such as a revoked key. */
  readonly faults: readonly Fault[];
}

interface Fault {
  readonly path: DocumentPath;
  readonly message: string;
}

/**
 * Reads an account with its keys and endpoints from the admin API, and compares them with the file. Rejects with
 * `CommandError`.
 * @param index index of the account in the file
 * @param prunes whether keys and endpoints that are not in the file are removed
 */
export async function planAccount(
  client: AdminClient,
  desired: DesiredAccount,
  index: number,
  prunes: boolean,
): Promise<AccountSteps> {
  const { keys = [], endpoints = [], ...fields } = desired;
  const path = ['accounts', index];
  const found = await client.listRows('listAccounts', [], 1, { external_id: desired.external_id });
  const [current] = found.data;
  if (current === undefined) {
    const steps = [
      createAccount(fields, path),
      ...keys.map((key, at) => createKey(key, [...path, 'keys', at])),
      ...endpoints.map((endpoint, at) => createEndpoint(endpoint, [...path, 'endpoints', at])),
    ];
    return { accountId: undefined, steps, faults: [] };
  }
  const accountId = String(current['id']);
  const changes = changesOf(current, fields);
  const steps: Step[] = [];
  const faults: Fault[] = [];
  if (changes.length > 0) {
    const run = (): Promise<Fields> => client.call('updateAccount', [accountId], { body: valuesOf(changes) });
    steps.push({ action: 'update', type: 'account', name: desired.external_id, changes, path, run });
  }
  if (desired.keys !== undefined) {
    const { data } = await client.listRows('listApiKeys', [accountId], ALL);
    steps.push(...keySteps(data, keys, path, prunes, faults));
  }
  if (desired.endpoints !== undefined) {
    const { data } = await client.listRows('listWebhookEndpoints', [accountId], ALL);
    steps.push(...endpointSteps(data, endpoints, path, prunes));
  }
  return { accountId, steps, faults };
}

function createAccount({ status, ...fields }: Omit<DesiredAccount, 'keys' | 'endpoints'>, path: DocumentPath): Step {
  return {
    ...creation('account', fields.external_id, { ...fields, status }, path),
    async run(client) {
      const body = await client.call('createAccount', [], { body: fields });
      if (status !== 'suspended') return body;
      return client.call('updateAccount', [String(body['id'])], { body: { status } });
    },
  };
}

/**
 * Compares keys by `external_id`. Keys without an external ID are managed by people and stay unchanged.
 * @param faults receives the keys that cannot be changed to match the file
 */
function keySteps(
  current: readonly Fields[],
  keys: readonly DesiredKey[],
  path: DocumentPath,
  prunes: boolean,
  faults: Fault[],
): Step[] {
  const byName = new Map(current.map((row) => [row['external_id'], row]));
  const steps = keys.flatMap((key, at): Step[] => {
    const place = [...path, 'keys', at];
    const row = byName.get(key.external_id);
    if (row === undefined) return [createKey(key, place)];
    const message = findFault(row, key);
    if (message === undefined) return updateKey(row, key, place);
    faults.push({ path: place, message });
    return [];
  });
  const inFile = new Set<unknown>(keys.map((key) => key.external_id));
  const surplus = current.filter(
    ({ external_id: name, status }) => name !== null && status !== 'revoked' && !inFile.has(name),
  );
  const removals = surplus.map((row) =>
    removal('key', String(row['external_id']), path, prunes, (client) =>
      client.call('revokeApiKey', [String(row['id'])]),
    ),
  );
  return [...steps, ...removals];
}

function createKey({ status, secret, secret_sha256, ...fields }: DesiredKey, path: DocumentPath): Step {
  return {
    ...creation('key', fields.external_id, { ...fields, status }, path),
    async run(client, accountId) {
      if (secret !== undefined || secret_sha256 !== undefined) {
        const record = { ...fields, type: 'api_key', account_id: accountId, status, secret, secret_sha256 };
        return importRecord(client, record);
      }
      const body = await client.call('createApiKey', [accountId], { body: fields });
      if (status === 'paused') await client.call('pauseApiKey', [String(body['id'])]);
      return body;
    },
  };
}

/** Returns why an existing key cannot be changed to match the file. Returns undefined if the key can be changed. */
function findFault(current: Fields, { external_id: name, environment }: DesiredKey): string | undefined {
  if (current['status'] === 'revoked') return `${name} is revoked for good. Give the key another external_id.`;
  const isOther = environment !== undefined && environment !== current['environment'];
  return isOther ? `The environment of ${name} cannot change. Make another key.` : undefined;
}

function updateKey(current: Fields, desired: DesiredKey, path: DocumentPath): Step[] {
  const { status, environment: _environment, secret: _secret, secret_sha256: _hash, ...fields } = desired;
  const id = String(current['id']);
  const name = desired.external_id;
  const changes = changesOf(current, fields);
  // An expired key has the status `expired`. The command neither pauses nor resumes such a key.
  const statusChanges = status !== undefined && current['status'] !== 'expired' && status !== current['status'];
  const shown = statusChanges ? [...changes, { field: 'status', from: current['status'], to: status }] : changes;
  if (shown.length === 0) return [];
  return [
    {
      action: 'update',
      type: 'key',
      name,
      changes: shown,
      path,
      async run(client) {
        const body =
          changes.length === 0 ? current : await client.call('updateApiKey', [id], { body: valuesOf(changes) });
        return statusChanges ? client.call(status === 'paused' ? 'pauseApiKey' : 'resumeApiKey', [id]) : body;
      },
    },
  ];
}

/** Compares endpoints by their URL. */
function endpointSteps(
  current: readonly Fields[],
  endpoints: readonly DesiredEndpoint[],
  path: DocumentPath,
  prunes: boolean,
): Step[] {
  const byUrl = new Map(current.map((row) => [row['url'], row]));
  const steps = endpoints.flatMap((endpoint, at): Step[] => {
    const place = [...path, 'endpoints', at];
    const row = byUrl.get(endpoint.url);
    if (row === undefined) return [createEndpoint(endpoint, place)];
    const { secret: _secret, ...fields } = endpoint;
    const changes = changesOf(row, fields);
    if (changes.length === 0) return [];
    const run: Step['run'] = (client) =>
      client.call('updateWebhookEndpoint', [String(row['id'])], { body: valuesOf(changes) });
    return [{ action: 'update', type: 'endpoint', name: endpoint.url, changes, path: place, run }];
  });
  const inFile = new Set<unknown>(endpoints.map(({ url }) => url));
  const removals = current
    .filter(({ url }) => !inFile.has(url))
    .map((row) =>
      removal('endpoint', String(row['url']), path, prunes, async (client) => {
        await client.callForText('deleteWebhookEndpoint', [String(row['id'])]);
        return {};
      }),
    );
  return [...steps, ...removals];
}

function createEndpoint({ status, ...fields }: DesiredEndpoint, path: DocumentPath): Step {
  const { secret: _secret, ...shown } = fields;
  return {
    ...creation('endpoint', fields.url, { ...shown, status }, path),
    async run(client, accountId) {
      const body = await client.call('createWebhookEndpoint', [accountId], { body: fields });
      if (status === 'paused') await client.call('updateWebhookEndpoint', [String(body['id'])], { body: { status } });
      return body;
    },
  };
}

function creation(type: Step['type'], name: string, fields: Fields, path: DocumentPath): Omit<Step, 'run'> {
  const changes = Object.entries(fields)
    .filter(([field, to]) => to !== undefined && to !== name && field !== 'external_id')
    .map(([field, to]) => ({ field, from: null, to }));
  return { action: 'create', type, name, changes, path };
}

function removal(
  type: Step['type'],
  name: string,
  path: DocumentPath,
  prunes: boolean,
  run: (client: AdminClient) => Promise<Fields>,
): Step {
  return { action: prunes ? 'remove' : 'leave', type, name, changes: [], path, run };
}

/** Creates a key with an existing secret by importing one record. */
async function importRecord(client: AdminClient, record: Fields): Promise<Fields> {
  const body = { records: [record], on_conflict: 'fail', dry_run: false };
  const { data } = await client.call('importRecords', [], { body });
  const [result] = data as Fields[];
  if (result?.['outcome'] === 'failed') throw new CommandError(String(result['reason']));
  return result ?? {};
}

/** Returns the fields of the file that differ from the current values. */
function changesOf(current: Fields, desired: Fields): FieldChange[] {
  return Object.entries(desired).flatMap(([field, to]) => {
    const from = current[field] ?? null;
    return to === undefined || comparableText(field, from) === comparableText(field, to) ? [] : [{ field, from, to }];
  });
}

function valuesOf(changes: readonly FieldChange[]): Fields {
  return Object.fromEntries(changes.map(({ field, to }) => [field, to]));
}

/** Returns a text that is the same for equivalent values. */
function comparableText(field: string, value: unknown): string {
  if (field.endsWith('_at') && typeof value === 'string') return String(Date.parse(value));
  if (SETS.has(field) && Array.isArray(value)) return JSON.stringify(value.toSorted());
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
