/**
 * What a key would be told, and by which limits: the steps of the request path, previewed. The key is built and judged
 * by the same code as there.
 */
import type { Account } from '../../accounts/accounts.js';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import { previewSteps, type StepPreview } from '../../admission/preview.js';
import { PreviewedRequest } from '../../admission/previewed-request.js';
import type { Steps } from '../../admission/steps.js';
import type { Config, Operation } from '../../config/model/schema.js';
import { plainAddress } from '../../platform/network-list.js';
import type { ApiKeyRecord } from '../../keys/api-key.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Preview } from '../../quota/preview.js';
import { Problem } from '../../platform/problems/errors.js';

/** What is asked for: an operation by its id, or a request as it would come in. */
export interface Asked {
  readonly operation?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** Undefined: an address that the key may be used from. */
  readonly clientAddress?: string | undefined;
}

export interface Explanation {
  readonly known: CachedKey;
  readonly record: ApiKeyRecord;
  /** Undefined where the request finds none. */
  readonly operation: Operation | undefined;
  /** Undefined where the account's plan is not in the configuration, and where nobody knows the counts. */
  readonly live: Preview | undefined;
  readonly shadow: Preview | undefined;
  /** What each step finds, in their order, also behind one that refuses. */
  readonly steps: readonly StepPreview[];
  /** The refusal; undefined where the backend, or the gateway itself, would answer. */
  readonly problem: Problem | undefined;
}

/** Explainer previews requests of keys. */
export class Explainer {
  /**
   * @param steps of the request path.
   * @param known the key of a record as requests would find it.
   */
  constructor(
    private readonly steps: Steps,
    private readonly known: (record: ApiKeyRecord) => CachedKey,
    private readonly config: () => Pick<Config, 'file' | 'operations'>,
  ) {}

  get basePath(): string {
    return this.config().file.api.basePath;
  }

  /** Whether there is an operation with this id. */
  knows(operationId: string): boolean {
    return this.config().operations.some(({ id }) => id === operationId);
  }

  /** @throws Problem `validation_failed` where an operation is named that does not exist. */
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

/** The key as the request path would read it, by its newest secret. */
function recordOf(key: ApiKey, account: Account): ApiKeyRecord {
  return {
    hash: '',
    keyId: key.id,
    accountId: account.id,
    // That it has expired is for the request path to find.
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
