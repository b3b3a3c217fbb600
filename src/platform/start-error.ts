/** StartError is an error of the start that the operator can fix. The message says how, in one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
