/** The stores of the control plane on a database, with a clock that tests advance and a bus that records messages. */
import type { Kysely } from 'kysely';
import type { Config } from '../../src/config/model/schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { Tables } from '../../src/stores/database/schema.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { AccountStore } from '../../src/accounts/accounts.js';
import type { Heard, Invalidation, InvalidationBus } from '../../src/keys/api-key.js';
import { digestOf } from '../../src/keys/api-key-format.js';
import type { SecretUse } from '../../src/keys/last-used.js';
import { ApiKeyStore } from '../../src/accounts/api-key-store.js';
import { AuditLog } from '../../src/records/audit-log.js';
import { Catalogue } from '../../src/accounts/catalogue.js';
import { keepClient } from '../../src/authorization/clients/authorization-requests.js';
import { OAuthObjects } from '../../src/authorization/clients/oauth-objects.js';

const operation = (index: number, id: string, method: string, scope: string) => ({
  index,
  id,
  method,
  template: '/customers',
  service: 'customers',
  scopes: [scope],
  cost: 1,
});

const plan = (minute: number) => ({
  key: { minute },
  account: {},
  onRedisLoss: 'local' as const,
  charge: 'all' as const,
});

/** A configuration with two plans, and three operations with scopes. */
export const TEST_CONFIG = {
  publicUrl: 'http://localhost:8080',
  file: {
    api: { basePath: '/api/v1', deprecation: null, sunset: null, brownouts: [] },
    plans: { starter: plan(60), pro: plan(600) },
  } as unknown as Config['file'],
  operations: [
    operation(0, 'listCustomers', 'GET', 'customers:read'),
    operation(1, 'createCustomer', 'POST', 'customers:write'),
    operation(2, 'listTours', 'GET', 'tours:read'),
  ],
};

export const OPERATOR = { actor: 'operator', ip: '127.0.0.1', requestId: 'req_test' };

/** Returns uses of secrets from the times by key ID, as if each key had one secret. */
export function usesOf(times: ReadonlyMap<string, number>): SecretUse[] {
  return [...times].map(([keyId, usedAtMs]) => ({ hash: digestOf(keyId), keyId, usedAtMs, address: '192.0.2.1' }));
}

/** RecordingBus records published messages, and delivers none. */
export class RecordingBus implements InvalidationBus {
  readonly published: Invalidation[] = [];
  async publish(change: Invalidation): Promise<void> {
    this.published.push(change);
  }
  subscribe(): void {}
  lastReceived(): Heard {
    return { untilMs: Infinity, gapFromMs: null };
  }

  connectedSince(): number {
    return 0;
  }
}

export class TestClock {
  constructor(private nowMs = 1_795_000_000_000) {}
  now(): number {
    return this.nowMs;
  }
  advance(ms: number): void {
    this.nowMs += ms;
  }
}

/** Creates the stores of the control plane on a database. */
export function storesOn(database: DatabaseHandle, signal = new WorkSignal(), clock = new TestClock()) {
  const bus = new RecordingBus();
  const catalogue = new Catalogue(() => TEST_CONFIG);
  const longestAccessMs = (): number => 90 * 86_400_000;
  const deps = {
    database,
    clock,
    bus,
    catalogue,
    signal,
    longestAccessMs,
    keepClient: (trx: Kysely<Tables>, clientId: string, endsMs: number) =>
      keepClient(new OAuthObjects(trx, clock), clientId, endsMs),
  };
  return {
    ...deps,
    accounts: new AccountStore(deps),
    keys: new ApiKeyStore(deps),
    auditLog: new AuditLog(database.db),
  };
}
