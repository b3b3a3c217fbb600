/** Which operations the gateway keeps what came of requests of, by their `Idempotency-Key`. */
import type { DescribedOperation } from '../model/loaded-config.js';
import type { GatewayFile } from '../model/schema.js';
import type { IDEMPOTENCY_MODES } from '../model/service-schema.js';
import { isObject } from './openapi-traversal.js';

/** What an entry of `operations` says of keys. */
export interface OwnKeys {
  readonly mode: (typeof IDEMPOTENCY_MODES)[number] | undefined;
  readonly retentionMs: number | undefined;
}

/** An operation of which it is not known yet what its service says of keys. */
export interface MergedOperation extends DescribedOperation {
  readonly keys?: OwnKeys;
}

/**
 * The operations with what is done with their keys. An entry of `operations` says it, else the service does. Where
 * nobody does, an operation whose document has the header among its parameters has a backend that honours it: two who
 * keep the same would contradict each other. All others are the gateway's.
 */
export function withKeyRetention(
  operations: readonly MergedOperation[],
  services: GatewayFile['services'],
): DescribedOperation[] {
  return operations.map(({ keys, ...operation }) => {
    const { idempotency, idempotencyRetention } = services[operation.service] ?? {};
    const mode = keys?.mode ?? idempotency ?? (isHonoured(operation) ? 'backend' : 'gateway');
    const retentionMs = keys?.retentionMs ?? idempotencyRetention;
    const isKept = mode === 'gateway' && (operation.method === 'POST' || operation.method === 'PATCH');
    return isKept && retentionMs !== undefined ? { ...operation, idempotency: { retentionMs } } : operation;
  });
}

/** Whether the document of the service says that the backend takes keys. */
function isHonoured({ openapi }: DescribedOperation): boolean {
  const parameters = openapi?.['parameters'];
  return Array.isArray(parameters) && parameters.some(isIdempotencyKey);
}

/** Whether a parameter of an OpenAPI document is the header `Idempotency-Key`. */
export function isIdempotencyKey(parameter: unknown): boolean {
  if (!isObject(parameter) || parameter['in'] !== 'header') return false;
  return String(parameter['name']).toLowerCase() === 'idempotency-key';
}
