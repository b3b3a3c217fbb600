/** A start that a person can mend: the message is one line and says how. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
