/**
 * What a key would be answered, and by which limits: the steps of the request path in their order, asked without counting anything. The
 * key is built and judged by the same code as there.
 */
import type { Clock } from '../../platform/clock.js';
import type { Config, Operation } from '../../config/model/schema.js';
import { Problem } from '../../problems/errors.js';
import type { Account } from '../../accounts/accounts.js';
import type { ApiKeyRecord } from '../../keys/api-key.js';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import { unusable } from '../../keys/authenticator.js';
import { KnownKeyFactory, type KnownKey } from '../../keys/known-key.js';
import { scopeProblem } from '../../keys/scope-problem.js';
import { ScopeSets } from '../../keys/scopes.js';
import { BUILT_IN_PATHS } from '../../proxy/routing/built-in-paths.js';
import { endingOf, endProblem } from '../../proxy/routing/ending.js';
import { OperationTable } from '../../proxy/routing/operation-table.js';
import { routeProblem } from '../../proxy/routing/route-problem.js';
import { preview, type Preview } from '../../limits/preview.js';
import type { QuotaStorage } from '../../limits/quota-storage.js';
import { quotaProblem } from '../../limits/model/refusal.js';

/** What is asked for: an operation by its id, or a request as it would come in. */
export interface Asked {
  readonly operation?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** Undefined: an address that the key may be used from. */
  readonly clientAddress?: string | undefined;
}

export interface Explanation {
  readonly known: KnownKey;
  readonly record: ApiKeyRecord;
  /** Undefined where the request finds none. */
  readonly operation: Operation | undefined;
  /** Undefined where the account's plan is not in the configuration. */
  readonly live: Preview | undefined;
  readonly shadow: Preview | undefined;
  /** The refusal; undefined where the backend, or the gateway itself, would answer. */
  readonly problem: Problem | undefined;
}

interface Found {
  readonly operation?: Operation;
  /** What the gateway answers itself costs nothing; `public` needs no key either. */
  readonly builtIn?: 'keyed' | 'public';
  readonly problem?: Problem;
}

export class Explainer {
  private table: OperationTable;
  private factory: KnownKeyFactory;

  constructor(
    private config: Pick<Config, 'file' | 'operations'>,
    private readonly quotas: Pick<QuotaStorage, 'read' | 'readShadow'>,
    private readonly clock: Clock,
  ) {
    this.table = new OperationTable(config.operations);
    this.factory = new KnownKeyFactory(config.file.plans, new ScopeSets());
  }

  /** Makes a configuration ready; it is explained by from the call of what it resolves with on. */
  async prepare(config: Pick<Config, 'file' | 'operations'>): Promise<() => void> {
    const table = await OperationTable.inTurns(config.operations);
    return () => {
      this.config = config;
      this.table = table;
      this.factory = new KnownKeyFactory(config.file.plans, new ScopeSets());
    };
  }

  get basePath(): string {
    return this.config.file.api.basePath;
  }

  /**
   * @throws Problem `validation_failed` where an operation is named that does not exist; `quota_unavailable` while the counters cannot
   *   be asked.
   */
  async explain(key: ApiKey, account: Account, asked: Asked): Promise<Explanation> {
    const record = recordOf(key, account);
    const nowMs = this.clock.now();
    const known = this.factory.build(record, nowMs, undefined);
    const found = this.find(asked, nowMs);
    const cost = found.operation?.cost ?? 0;
    const { live, shadow } = await this.counts(known, cost);
    const problem =
      found.builtIn === 'public'
        ? undefined
        : (found.problem ??
          unusable(known, asked.clientAddress, nowMs) ??
          refusedScope(known, found.operation) ??
          refusedQuota(known, found, live));
    return { known, record, operation: found.operation, live, shadow, problem };
  }

  private find({ operation: id, method = 'GET', path = '' }: Asked, nowMs: number): Found {
    const operation = id === undefined ? undefined : this.config.operations.find((each) => each.id === id);
    if (id !== undefined && operation === undefined) throw unknownOperation();
    if (operation !== undefined) return this.living(operation, nowMs);
    const { basePath } = this;
    const [whole = ''] = path.split('?');
    const below = whole.startsWith(`${basePath}/`) ? whole.slice(basePath.length) : '';
    if (below === '') return { problem: routeProblem({ kind: 'not_found' }, whole) };
    const builtIn = BUILT_IN_PATHS.get(below);
    if (builtIn !== undefined) {
      if (builtIn.includes(method === 'HEAD' ? 'GET' : method))
        return { builtIn: below === '/usage' ? 'keyed' : 'public' };
      return { problem: routeProblem({ kind: 'method_not_allowed', allow: 'GET, HEAD' }, whole) };
    }
    const match = this.table.match(method, below);
    return match.kind === 'operation' ? this.living(match.operation, nowMs) : { problem: routeProblem(match, whole) };
  }

  private living(operation: Operation, nowMs: number): Found {
    const ending = endingOf(operation, this.config.file.api, () => '');
    const problem = ending === undefined ? undefined : endProblem(ending, nowMs);
    return problem === undefined ? { operation } : { operation, problem };
  }

  private async counts({ subject }: KnownKey, cost: number): Promise<{ live?: Preview; shadow?: Preview }> {
    if (subject === undefined) return {};
    try {
      return await preview(this.quotas, subject, cost);
    } catch (error) {
      throw new Problem('quota_unavailable', {
        detail: 'The counters cannot be asked at the moment; until they can, plans decide by onRedisLoss.',
        headers: ['Retry-After', '1'],
        cause: error,
      });
    }
  }
}

function refusedScope({ scopeSet }: KnownKey, operation: Operation | undefined): Problem | undefined {
  if (operation === undefined || scopeSet.allows(operation)) return undefined;
  return scopeProblem(scopeSet.scopes, operation.scopes);
}

function refusedQuota({ subject }: KnownKey, found: Found, live: Preview | undefined): Problem | undefined {
  if (found.builtIn !== undefined) return undefined;
  if (subject === undefined || live === undefined) {
    return new Problem('quota_unavailable', {
      detail: 'The limits of this account are not configured: gateway.yaml does not have its plan.',
    });
  }
  return live.decision.admitted ? undefined : quotaProblem(subject, live.decision);
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
    keyStatus: key.status === 'revoked' ? 'revoked' : 'active',
    environment: key.environment,
    scopes: key.scopes,
    expiresAt: key.expiresAt,
    rotatedOut: false,
    allowedIps: key.allowedIps,
    accountStatus: account.status,
    plan: account.plan,
    timeZone: account.timeZone,
    billingDay: account.billingDay,
    limitChanges: { keyLimits: key.limits, accountGrant: account.grant, keyGrant: key.grant },
  };
}
