/**
 * Previews how the admission steps would treat a request with a key, for the Explain page and logged requests. Builds
 * the key and runs the steps with the same code as real requests.
 */
import type { Account } from '../../accounts/accounts.js';
import type { ApiKey } from '../../accounts/api-key-rows.js';
import { previewSteps, type StepPreview } from '../../admission/preview.js';
import { PreviewedRequest, type PreviewedTarget } from '../../admission/previewed-request.js';
import { AcceptedHosts, type HostedMessage } from '../../admission/requested-host.js';
import type { Routes } from '../../admission/routes.js';
import type { Steps } from '../../admission/steps.js';
import { apiOf, publicPaths } from '../../config/model/apis.js';
import type { Config, Operation } from '../../config/model/schema.js';
import { plainAddress } from '../../platform/network-list.js';
import type { ApiKeyRecord } from '../../keys/api-key.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Preview } from '../../quota/preview.js';
import { Problem } from '../../platform/problems/errors.js';

/** ExplainRequest is the request to explain: an operation by ID, or a method and path. */
export interface ExplainRequest {
  readonly operationId?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** Requested host with an optional port. Undefined if the path decides alone which API serves the request. */
  readonly host?: string | undefined;
  /** Source address. Undefined to skip the address checks. */
  readonly clientAddress?: string | undefined;
}

/** Explanation is the result of a preview. */
export interface Explanation {
  /** The key in the form in which the gateway caches keys. */
  readonly cachedKey: CachedKey;
  readonly record: ApiKeyRecord;
  /** Undefined if the request matches no operation. */
  readonly operation: Operation | undefined;
  /** Host names under which the operation is served. Empty for any host, and without an operation. */
  readonly hosts: readonly string[];
  /** Enforced limits. Undefined if the account's plan is not in the configuration or the counters are unavailable. */
  readonly live: Preview | undefined;
  /** Shadow limits, which never reject requests. Undefined if there are none, or if `live` is undefined. */
  readonly shadow: Preview | undefined;
  /** Results of all steps in order, including steps after a rejection. */
  readonly steps: readonly StepPreview[];
  /** Problem of the first step that rejects the request. Undefined if no step rejects. */
  readonly problem: Problem | undefined;
}

/** Address of a program on this machine. Only such a program reaches the gateway under a loopback name. */
const LOCAL_ADDRESS = '127.0.0.1';
/** Maximum number of hosts in the error of a request that needs a host. */
const MAX_LISTED_HOSTS = 20;

/** Explainer previews requests with the current configuration. */
export class Explainer {
  /**
   * @param admission steps and routes of the request path
   * @param buildCachedKey builds the cached key from a record, with the code that real requests use
   */
  constructor(
    private readonly admission: { readonly steps: Steps; readonly routes: Routes },
    private readonly buildCachedKey: (record: ApiKeyRecord) => CachedKey,
    private readonly config: () => Pick<Config, 'file' | 'operations'>,
  ) {}

  /** Returns the public path of an operation. */
  readonly pathOf = (operation: Operation): string => publicPaths(this.config().file)(operation);

  /** Reports whether the current configuration has an operation with this ID. */
  hasOperation(operationId: string): boolean {
    return this.config().operations.some(({ id }) => id === operationId);
  }

  /**
   * Previews a request with a key of an account. Counts nothing.
   * @throws Problem `validation_failed` for an unknown operation ID, and for a path without a host if several APIs
   *   have the path under different hosts
   */
  async explain(key: ApiKey, account: Account, asked: ExplainRequest): Promise<Explanation> {
    const record = recordOf(key, account);
    const cachedKey = this.buildCachedKey(record);
    const address = asked.clientAddress === undefined ? undefined : plainAddress(asked.clientAddress);
    const { file } = this.config();
    const request = new PreviewedRequest(this.requestedTarget(asked, address), cachedKey, address);
    const steps = await previewSteps(this.admission.steps, new AcceptedHosts(file), request);
    const problem = steps.find((step) => step.problem !== undefined)?.problem;
    const { operation, live, shadow } = request;
    const hosts = operation === undefined ? [] : apiOf(file, operation.api).hosts;
    return { cachedKey, record, operation, hosts, live, shadow, steps, problem };
  }

  private requestedTarget(
    { operationId: id, method = 'GET', path: url = '', host }: ExplainRequest,
    address: string = LOCAL_ADDRESS,
  ): Operation | PreviewedTarget {
    if (id === undefined) return { method, url, message: messageOf(host ?? this.onlyHostOf(url), address) };
    const operation = this.config().operations.find((each) => each.id === id);
    if (operation === undefined) throw invalidField('operation', 'is not the id of an operation');
    return operation;
  }

  /**
   * Returns a host of the API that serves a path. Undefined if the API serves every host, or no API has the path.
   * @throws Problem `validation_failed` if the host decides between several APIs
   */
  private onlyHostOf(url: string): string | undefined {
    const [path = ''] = url.split('?');
    const [hosts, ...others] = this.admission.routes.hostsAt(path);
    if (others.length > 0) {
      const listed = listHosts([hosts, ...others]);
      throw invalidField('host', `is required, because several APIs have this path. Their hosts: ${listed}`);
    }
    return hosts?.values().next().value;
  }
}

function messageOf(host: string | undefined, remoteAddress: string): HostedMessage {
  return { headers: { host }, socket: { remoteAddress } };
}

/** Lists the hosts of several APIs as text: `a.example.com, b.example.com, any other`. */
function listHosts(apis: ReturnType<Routes['hostsAt']>): string {
  const names = apis.flatMap((hosts) => [...(hosts ?? [])]);
  const more = names.length - MAX_LISTED_HOSTS;
  return [
    ...names.slice(0, MAX_LISTED_HOSTS),
    ...(more > 0 ? [`${more} more`] : []),
    ...(apis.includes(undefined) ? ['any other'] : []),
  ].join(', ');
}

function invalidField(name: string, detail: string): Problem {
  return new Problem('validation_failed', {
    detail: 'Some fields are not valid.',
    errors: [{ pointer: `#/${name}`, detail }],
  });
}

/** Returns the record that the request path would read for the key's current secret. */
function recordOf(key: ApiKey, account: Account): ApiKeyRecord {
  return {
    hash: '',
    keyId: key.id,
    accountId: account.id,
    // Records have no status `expired`. The request path compares `expiresAt` with the time.
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
