/** Determines for which operations the gateway stores responses by `Idempotency-Key`, and for how long. */
import type { DescribedOperation } from '../model/loaded-config.js';
import type { GatewayFile } from '../model/schema.js';
import type { IDEMPOTENCY_MODES } from '../model/service-schema.js';
import { isObject } from './openapi-traversal.js';

/** Idempotency settings of an `operations` entry. Undefined fields take the value of the service. */
export interface OwnKeys {
  readonly mode: (typeof IDEMPOTENCY_MODES)[number] | undefined;
  readonly retentionMs: number | undefined;
}

/** An operation before `withKeyRetention` applies the idempotency settings of the service. */
export interface MergedOperation extends DescribedOperation {
  readonly keys?: OwnKeys;
}

/**
 * Applies the idempotency settings of the `operations` entry, or else of the service. Without either, the backend
 * handles an operation whose document declares the header, because two stores could give conflicting results. The
 * gateway handles all other POST and PATCH operations.
 */
export function withKeyRetention(
  operations: readonly MergedOperation[],
  services: GatewayFile['services'],
): DescribedOperation[] {
  return operations.map(({ keys, ...operation }) => {
    const { idempotency, idempotencyRetention } = services[operation.service] ?? {};
    const mode = keys?.mode ?? idempotency ?? (declaresIdempotencyKey(operation) ? 'backend' : 'gateway');
    const retentionMs = keys?.retentionMs ?? idempotencyRetention;
    const isKept = mode === 'gateway' && (operation.method === 'POST' || operation.method === 'PATCH');
    return isKept && retentionMs !== undefined ? { ...operation, idempotency: { retentionMs } } : operation;
  });
}

/**
 * Reports whether the document declares the `Idempotency-Key` header, which means that the backend handles the header.
 */
function declaresIdempotencyKey({ openapi }: DescribedOperation): boolean {
  const parameters = openapi?.['parameters'];
  return Array.isArray(parameters) && parameters.some(isIdempotencyKey);
}

/** Reports whether an OpenAPI parameter is the `Idempotency-Key` header. */
export function isIdempotencyKey(parameter: unknown): boolean {
  if (!isObject(parameter) || parameter['in'] !== 'header') return false;
  return String(parameter['name']).toLowerCase() === 'idempotency-key';
}
