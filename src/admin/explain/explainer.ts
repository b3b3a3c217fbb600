/**
 * Previews what the steps of the request path decide for a key. It builds the key and runs the steps with the same code
 * as real requests.
 */
import type { Account } from '../../accounts/accounts.js';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import { previewSteps, type StepPreview } from '../../admission/preview.js';
import { PreviewedRequest } from '../../admission/previewed-request.js';
import type { Steps } from '../../admission/steps.js';
import { publicPaths } from '../../config/model/apis.js';
import type { Config, Operation } from '../../config/model/schema.js';
import { plainAddress } from '../../platform/network-list.js';
import type { ApiKeyRecord } from '../../keys/api-key.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Preview } from '../../quota/preview.js';
import { Problem } from '../../platform/problems/errors.js';

/** The request to explain: an operation by id, or method and path. */
export interface Asked {
  readonly operation?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** Source address; undefined: one that the key allows. */
  readonly clientAddress?: string | undefined;
}

export interface Explanation {
  readonly known: CachedKey;
  readonly record: ApiKeyRecord;
  /** Undefined if the request matches no operation. */
  readonly operation: Operation | undefined;
  /** Undefined if the account's plan is not in the configuration or the counts are unavailable. */
  readonly live: Preview | undefined;
  readonly shadow: Preview | undefined;
  /** Results of all steps in order, including steps after one that rejects. */
  readonly steps: readonly StepPreview[];
  /** The rejection; undefined if the request would get a response from the backend or the gateway itself. */
  readonly problem: Problem | undefined;
}

/** Explainer previews requests of keys. */
export class Explainer {
  /**
   * @param steps steps of the request path.
   * @param known resolves a record to the key that requests would find.
   */
  constructor(
    private readonly steps: Steps,
    private readonly known: (record: ApiKeyRecord) => CachedKey,
    private readonly config: () => Pick<Config, 'file' | 'operations'>,
  ) {}

  /** Returns the public path of an operation. */
  readonly pathOf = (operation: Operation): string => publicPaths(this.config().file)(operation);

  /** Reports whether an operation with this id exists. */
  knows(operationId: string): boolean {
    return this.config().operations.some(({ id }) => id === operationId);
  }

  /**
   * Explains a request.
   * @throws Problem `validation_failed` for an unknown operation id.
   */
  async explain(key: ApiKey, account: Account, asked: Asked): Promise<Explanation> {
    const record = recordOf(key, account);
    const known = this.known(record);
    const address = asked.clientAddress === undefined ? undefined : plainAddress(asked.clientAddress);
    const request = new PreviewedRequest(this.askedFor(asked), known, address);
    const steps = await previewSteps(this.steps, request);
    const problem = steps.find((step) => step.problem !== undefined)?.problem;
    const { operation, live, shadow } = request;
    return { known, record, operation, live, shadow, steps, problem };
  }

  private askedFor({
    operation: id,
    method = 'GET',
    path: url = '',
  }: Asked): Operation | { method: string; url: string } {
    if (id === undefined) return { method, url };
    const operation = this.config().operations.find((each) => each.id === id);
    if (operation === undefined) throw unknownOperation();
    return operation;
  }
}

function unknownOperation(): Problem {
  return new Problem('validation_failed', {
    detail: 'Some fields are not valid.',
    errors: [{ pointer: '#/operation', detail: 'is not the id of an operation' }],
  });
}

/** Returns the key as the request path reads it, identified by its newest secret. */
function recordOf(key: ApiKey, account: Account): ApiKeyRecord {
  return {
    hash: '',
    keyId: key.id,
    accountId: account.id,
    // The request path checks the expiration itself.
    keyStatus: key.status === 'expired' ? 'active' : key.status,
    environment: key.environment,
    scopes: key.scopes,
    expiresAt: key.expiresAt,
    rotatedOut: false,
    allowedIps: key.allowed_ips,
    accountStatus: account.status,
    plan: account.plan,
    timeZone: account.timeZone,
    billingDay: account.billingDay,
    limitChanges: { keyLimits: key.limits, accountGrant: account.grant, keyGrant: key.grant },
  };
}
