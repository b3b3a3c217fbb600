/**
 * Collects a backend's error response, up to a size limit. The gateway interprets the body, and never sends the body to
 * the client unchanged.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorMap } from '../../config/model/schema.js';
import type { Problem } from '../../platform/problems/errors.js';
import { fieldsByName } from '../../http/grammar/fields.js';
import { backendProblem } from '../backend-errors/backend-problem.js';
import { errorText } from '../backend-errors/error-encoding.js';

/** Maximum size of an error body, also after decompression. The gateway ignores larger bodies. */
const LARGEST_ERROR_BODY_BYTES = 64 * 1024;

export class ErrorResponse {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;

  constructor(
    private readonly status: number,
    /** Header fields as alternating names and values. */
    private readonly fields: readonly string[],
  ) {}

  /** Whether the body exceeds the limit. */
  get isTooLarge(): boolean {
    return this.bytes > LARGEST_ERROR_BODY_BYTES;
  }

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (!this.isTooLarge) this.chunks.push(chunk);
  }

  /** Returns the problem for the collected response. `backendProblem` describes the parameters. */
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
