/** A body that could not be read. The error is reported when a handler reads it, so that missing permissions come first. */
import type { Problem } from './errors.js';

/** RefusedBody takes the place of the body. */
export class RefusedBody {
  constructor(readonly problem: Problem) {}
}
