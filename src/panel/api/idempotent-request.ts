/** Hook that sends a request which must not be carried out twice, such as the creation of a secret. */
import { useRef, useState } from 'react';
import { Unreachable } from './problem.js';

export interface SentOnce {
  /** Failure of the last try. Null if there was none. */
  readonly error: unknown;
  readonly isPending: boolean;
  /**
   * Sends the request with an idempotency key. After a lost response, the next try uses the same key, because the first
   * request may have succeeded. Never rejects: the failure is in `error`.
   */
  readonly send: (sendRequest: (requestId: string) => Promise<void>) => Promise<void>;
  /** Call when the form values change. The next `send` then uses a new idempotency key. */
  readonly changed: () => void;
}

/** Does not use a TanStack mutation, because the mutation cache would keep the secret. */
export function useIdempotentRequest(): SentOnce {
  const [error, setError] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const requestId = useRef<string | null>(null);
  const changed = (): void => {
    requestId.current = null;
  };
  const send = async (sendRequest: (requestId: string) => Promise<void>): Promise<void> => {
    setPending(true);
    setError(null);
    requestId.current ??= crypto.randomUUID();
    try {
      await sendRequest(requestId.current);
    } catch (caught) {
      if (!(caught instanceof Unreachable)) changed();
      setError(caught);
    } finally {
      setPending(false);
    }
  };
  return { error, isPending, send, changed };
}
