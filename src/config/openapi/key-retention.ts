/** Determines for which operations the gateway stores responses by `Idempotency-Key`. */
import type { DescribedOperation } from '../model/loaded-config.js';
import type { GatewayFile } from '../model/schema.js';
import type { IDEMPOTENCY_MODES } from '../model/service-schema.js';
import { isObject } from './openapi-traversal.js';

/** Idempotency settings of an entry of `operations`. */
export interface OwnKeys {
  readonly mode: (typeof IDEMPOTENCY_MODES)[number] | undefined;
  readonly retentionMs: number | undefined;
}

/** An operation before the service's idempotency settings are applied. */
export interface MergedOperation extends DescribedOperation {
  readonly keys?: OwnKeys;
}

/**
 * Applies the idempotency settings: those of the `operations` entry, else the service's. Without either, an operation
 * whose document declares the header is left to its backend, since both would store conflicting results. The gateway
 * handles all others.
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

/** Reports whether the document declares that the backend supports idempotency keys. */
function isHonoured({ openapi }: DescribedOperation): boolean {
  const parameters = openapi?.['parameters'];
  return Array.isArray(parameters) && parameters.some(isIdempotencyKey);
}

/** Reports whether an OpenAPI parameter is the `Idempotency-Key` header. */
export function isIdempotencyKey(parameter: unknown): boolean {
  if (!isObject(parameter) || parameter['in'] !== 'header') return false;
  return String(parameter['name']).toLowerCase() === 'idempotency-key';
}
