/** The operation that a handler is, and its row in the table of permissions. */
import type { ExecutionContext } from '@nestjs/common';
import { PERMISSIONS, type OperationId, type Permission } from '../../members/permissions.js';
import { DOCUMENTED, type OperationDescription } from '../openapi/documented.js';

/** The row of the handler of a request. Throws where it has none: the application does not start with such a one. */
export function permissionOf(context: ExecutionContext): { readonly id: OperationId; readonly permission: Permission } {
  const { id } = Reflect.getMetadata(DOCUMENTED, context.getHandler()) as OperationDescription;
  return { id, permission: PERMISSIONS[id] };
}
