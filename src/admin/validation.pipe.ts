/**
 * Checks body and query against their zod schemas: a wrong field is 422 with its JSON pointer, a wrong parameter 400.
 */
import { Injectable, StandardSchemaValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import { Problem, type FieldError } from '../platform/problems/errors.js';
import { RefusedBody } from '../platform/problems/refused-body.js';
import { invalidParameters } from '../platform/problems/parameter-problem.js';
import '../platform/problems/plain-words.js';

interface Issue {
  readonly message: string;
  readonly path?: readonly unknown[] | undefined;
  /** Of zod's `unrecognized_keys`: one issue for all of them. */
  readonly keys?: readonly string[];
}

class InvalidValue extends Error {
  constructor(readonly issues: readonly Issue[]) {
    super('invalid value');
  }
}

/** More would help nobody and let a caller choose the size of our response. */
const MAX_ERRORS = 50;

@Injectable()
export class ValidationPipe extends StandardSchemaValidationPipe {
  constructor() {
    super({ exceptionFactory: (issues) => new InvalidValue(issues as readonly Issue[]) });
  }

  override async transform<T = unknown>(value: T, metadata: ArgumentMetadata): Promise<T> {
    if (value instanceof RefusedBody) throw value.problem;
    try {
      const valid = (await super.transform(value, metadata)) as T;
      if (metadata.type !== 'custom' && holdsNul(valid)) throw nulProblem(valid, metadata);
      return valid;
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      throw metadata.type === 'body' ? bodyProblem(error.issues) : parameterProblem(error.issues);
    }
  }
}

/** PostgreSQL has no text with it, and no name or id of ours either. */
function nulProblem(value: unknown, { type }: ArgumentMetadata): Problem {
  if (type !== 'query' || typeof value !== 'object' || value === null) {
    return new Problem('bad_request', { detail: 'The request must not contain the character U+0000.' });
  }
  const wrong = Object.entries(value).filter(([, each]) => holdsNul(each));
  return invalidParameters(
    wrong.map(([parameter]) => ({ parameter, detail: 'must not contain the character U+0000' })),
  );
}

function holdsNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsNul);
}

function bodyProblem(issues: readonly Issue[]): Problem {
  const errors = fieldErrors(issues, (path, detail) => ({ pointer: jsonPointer(path), detail }));
  return new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
}

function parameterProblem(issues: readonly Issue[]): Problem {
  return invalidParameters(fieldErrors(issues, (path, detail) => ({ parameter: path.join('.'), detail })));
}

function fieldErrors<E extends FieldError>(
  issues: readonly Issue[],
  toError: (path: string[], detail: string) => E,
): E[] {
  const errors = issues.flatMap(({ message, path = [], keys }) => {
    const names = path.map((segment) => String(segment));
    if (keys === undefined) return [toError(names, message)];
    return keys.map((key) => toError([...names, key], 'is not a known name'));
  });
  return errors.slice(0, MAX_ERRORS);
}

/** RFC 6901, in the URI fragment form of RFC 9457's example: `#/scopes/0`; `#` is the whole body. */
function jsonPointer(path: readonly string[]): string {
  return `#${path.map((name) => `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`;
}
