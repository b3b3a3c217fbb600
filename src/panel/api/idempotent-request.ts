/** Hook that sends a request which the API must not carry out twice, such as the creation of a secret. */
import { useRef, useState } from 'react';
import { Unreachable } from './problem.js';

export interface SentOnce {
  /** Error of the last attempt. Null without an error, and while an attempt is running. */
  readonly error: unknown;
  readonly isPending: boolean;
  /**
   * Sends the request with an idempotency key. If no response arrives, the next attempt uses the same key, because the
   * API may have carried out the request. Never rejects: `error` holds the error.
   */
  readonly send: (sendRequest: (requestId: string) => Promise<void>) => Promise<void>;
  /** Call this function when the form values change. The next `send` then uses a new idempotency key. */
  readonly changed: () => void;
}

/**
 * Returns the state of the request, and the function that sends the request. A TanStack mutation would keep the secret
 * of the response in its cache.
 */
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
