/**
 * Represents a request body that could not be read. The error is reported when a handler reads the body, so that
 * missing permissions are reported first.
 */
import type { Problem } from './errors.js';

/** RefusedBody takes the place of the parsed body. */
export class RefusedBody {
  constructor(readonly problem: Problem) {}
}
