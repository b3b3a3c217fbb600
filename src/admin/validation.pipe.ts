/**
 * Validates bodies and queries with the zod schemas of their handlers. Responds with 422 and a JSON pointer for each
 * invalid field of a body. Responds with 400 to invalid query parameters and NUL characters.
 */
import { Injectable, StandardSchemaValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import { Problem, type FieldError } from '../platform/problems/errors.js';
import { RefusedBody } from '../platform/problems/refused-body.js';
import { invalidParameters } from '../platform/problems/parameter-problem.js';
import '../platform/problems/plain-words.js';

interface Issue {
  readonly message: string;
  readonly path?: readonly unknown[] | undefined;
  /** Unknown names of an object, in zod's issue `unrecognized_keys`. */
  readonly keys?: readonly string[];
}

class InvalidValue extends Error {
  constructor(readonly issues: readonly Issue[]) {
    super('invalid value');
  }
}

/** Maximum number of errors in a response. Without a maximum, callers could control the response size. */
const MAX_ERRORS = 50;

/** ValidationPipe validates values, and rejects NUL characters and bodies that could not be parsed. */
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

/** Creates the problem for NUL characters, which PostgreSQL cannot store in text. */
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

/** Returns a JSON pointer as a URI fragment (RFC 6901), such as `#/scopes/0`. `#` is the whole body. */
function jsonPointer(path: readonly string[]): string {
  return `#${path.map((name) => `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`;
}
