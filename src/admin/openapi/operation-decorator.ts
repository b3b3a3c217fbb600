/** Binds a handler to its operation: route, status and description come from the row in the table. */
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

export const DOCUMENTED = 'trailgate:documented';

/** A row of the table with the schemas of its handler. */
export interface OperationDescription extends OperationRow {
  readonly id: OperationId;
  readonly tag: string;
  /** Schema of the response body; null without a body. */
  readonly response: z.ZodType | null;
}

/** A read-only value, whose lists may be readonly. */
type Shown<T> = T extends readonly (infer Item)[]
  ? readonly Shown<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Shown<T[Key]> }
    : T;

/** A handler whose result fits the response schema; undefined if the handler has sent the response. */
type Handler<Response extends z.ZodType> = (
  ...parameters: never[]
) => Shown<z.output<Response>> | Promise<Shown<z.output<Response>> | undefined>;

/**
 * Declares the operation of a handler. Every handler of the admin API needs one, in a controller without a path.
 *
 * @param response schema of the response body; omit it if there is no body.
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

/** Returns the operation of the current handler. `openApiDocument` guarantees that each handler has one. */
export function operationOf(context: ExecutionContext): OperationDescription {
  return Reflect.getMetadata(DOCUMENTED, context.getHandler()) as OperationDescription;
}
