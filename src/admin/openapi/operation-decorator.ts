/**
 * Defines the decorator `@Operation`, which reads route, status and description of a handler from the table of
 * operations.
 */
import {
  applyDecorators,
  HttpCode,
  RequestMapping,
  RequestMethod,
  SetMetadata,
  type ExecutionContext,
} from '@nestjs/common';
import type { z } from 'zod';
import { API_PREFIX, OPERATIONS, type OperationId, type OperationRow } from './operations.js';

/** Metadata key of a handler's `OperationDescription`. */
export const DOCUMENTED = 'trailgate:documented';

/** OperationDescription is a row of the table of operations, with its ID and response schema. */
export interface OperationDescription extends OperationRow {
  readonly id: OperationId;
  readonly tag: string;
  /** Schema of the response body. Null without a body. */
  readonly response: z.ZodType | null;
}

/** DeepReadonly makes the properties and lists of a type readonly at every level. */
type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/**
 * Handler is a handler method whose result matches the response schema. A promise of undefined is a response without a
 * body, such as 304.
 */
type Handler<Response extends z.ZodType> = (
  ...parameters: never[]
) => DeepReadonly<z.output<Response>> | Promise<DeepReadonly<z.output<Response>> | undefined>;

/**
 * Declares the operation of a handler. Every handler of the admin API needs an operation. The controller must not have
 * a path, because the operation has the whole path.
 *
 * @param response schema of the response body. Omit `response` if there is no body.
 */
export function Operation<Response extends z.ZodType = z.ZodAny>(id: OperationId, response?: Response) {
  const row: OperationRow & { readonly tag: string } = OPERATIONS[id];
  const description: OperationDescription = { ...row, id, response: response ?? null };
  const path = API_PREFIX + row.path.replace(/\{(\w+)\}/g, ':$1');
  const method = RequestMethod[row.method.toUpperCase() as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'];
  const decorate = applyDecorators(
    RequestMapping({ path, method }),
    HttpCode(row.status),
    SetMetadata(DOCUMENTED, description),
  );
  return <T extends Handler<Response>>(target: object, name: string, handler: TypedPropertyDescriptor<T>): void =>
    decorate(target, name, handler);
}

/**
 * Returns the operation of the current handler. Don't call `operationOf` for public controllers, whose handlers have no
 * operation.
 */
export function operationOf(context: ExecutionContext): OperationDescription {
  return Reflect.getMetadata(DOCUMENTED, context.getHandler()) as OperationDescription;
}
