/**
 * What the description says of an operation beyond its route, body and query, which
 * it reads from Nest's own decorators.
 */
import { SetMetadata } from '@nestjs/common';
import type { z } from 'zod';
import type { OperationId } from '../../members/permissions.js';
import type { ErrorCode } from '../../platform/problems/errors.js';

export const DOCUMENTED = 'trailgate:documented';

export interface OperationDescription {
  /** `operationId`, which has a row in the table of permissions. */
  readonly id: OperationId;
  readonly summary: string;
  /** The body of the response; null where it has none. */
  readonly response: z.ZodType | null;
  /** Whether the response can be had as CSV too. */
  readonly csv?: boolean;
  /** 200 unless said. */
  readonly status?: number;
  /** Whether the resource has a version: it is shown with an `ETag`, or changed with `If-Match`. */
  readonly version?: 'shown' | 'changed';
  /** Beside those that every operation may answer with. */
  readonly problems?: readonly ErrorCode[];
}

/** On every handler of the admin API: one without it keeps the application from starting. */
export const Documented = (description: OperationDescription): MethodDecorator => SetMetadata(DOCUMENTED, description);
