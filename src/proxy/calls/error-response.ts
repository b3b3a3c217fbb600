/** A response of 400 and above while it arrives: read for its meaning, up to a bound, never passed on as it is. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorMap } from '../../config/model/schema.js';
import type { Problem } from '../../platform/problems/errors.js';
import { fieldsByName } from '../../http/grammar/fields.js';
import { backendProblem } from '../backend-errors/backend-problem.js';
import { errorText } from '../backend-errors/error-encoding.js';

/** The most of an error body that is read for its meaning. */
const LARGEST_ERROR_BODY_BYTES = 64 * 1024;

export class ErrorResponse {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;

  constructor(
    private readonly status: number,
    /** Flat: name, value, name, value. */
    private readonly fields: readonly string[],
  ) {}

  /** More has come than is read. */
  get isTooLarge(): boolean {
    return this.bytes > LARGEST_ERROR_BODY_BYTES;
  }

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (!this.isTooLarge) this.chunks.push(chunk);
  }

  /** @param authenticates and `errors`: see `backendProblem`. */
  problem(authenticates: boolean, errors?: ErrorMap): Problem {
    const { status } = this;
    const headers = fieldsByName(this.fields) as IncomingHttpHeaders;
    const body = this.isTooLarge
      ? undefined
      : errorText(
          Buffer.concat(this.chunks),
          headers['content-encoding'],
          headers['content-type'],
          LARGEST_ERROR_BODY_BYTES,
        );
    return backendProblem({ status, headers, body }, authenticates, errors);
  }
}
