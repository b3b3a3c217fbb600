/** The decorator that gives a handler its operation: route, status and description are those of its row. */
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

/** An operation's row, with what its handler adds. */
export interface OperationDescription extends OperationRow {
  readonly id: OperationId;
  readonly tag: string;
  /** The body of the response; null where it has none. */
  readonly response: z.ZodType | null;
}

/** A value that is only read: its lists may be readonly. */
type Shown<T> = T extends readonly (infer Item)[]
  ? readonly Shown<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Shown<T[Key]> }
    : T;

/** A handler whose result fits the schema of the response; undefined: the handler has replied. */
type Handler<Response extends z.ZodType> = (
  ...parameters: never[]
) => Shown<z.output<Response>> | Promise<Shown<z.output<Response>> | undefined>;

/**
 * Makes a handler the one of an operation. Every handler of the admin API needs it, in a controller without a path.
 *
 * @param response The schema of the response's body; leave it out where there is no body.
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

/** Returns the operation that the handler of a request carries out. `openApiDocument` refuses a handler of none. */
export function operationOf(context: ExecutionContext): OperationDescription {
  return Reflect.getMetadata(DOCUMENTED, context.getHandler()) as OperationDescription;
}
