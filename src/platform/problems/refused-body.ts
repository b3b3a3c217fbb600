/** A body that could not be read, until somebody wants it: who may not ask at all hears that first. */
import type { Problem } from './errors.js';

/** RefusedBody stands in the place of such a body. */
export class RefusedBody {
  constructor(readonly problem: Problem) {}
}
