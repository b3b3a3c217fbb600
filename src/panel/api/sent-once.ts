/** Sends a request that creates a secret, with a safe retry after a lost response. */
import { useRef, useState } from 'react';
import { Unreachable } from './problem.js';

export interface SentOnce {
  /** The failure of the last try; null without one. */
  readonly error: unknown;
  readonly isPending: boolean;
  /** Sends under an id that stays the same after a lost response, because the request may have succeeded. */
  readonly send: (make: (requestId: string) => Promise<void>) => Promise<void>;
  /** Call when the values change: the next send is a new request. */
  readonly changed: () => void;
}

/** Keeps state itself: the cache of a TanStack mutation would hold the secret. */
export function useSentOnce(): SentOnce {
  const [error, setError] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const requestId = useRef<string | null>(null);
  const changed = (): void => {
    requestId.current = null;
  };
  const send = async (make: (requestId: string) => Promise<void>): Promise<void> => {
    setPending(true);
    setError(null);
    requestId.current ??= crypto.randomUUID();
    try {
      await make(requestId.current);
    } catch (caught) {
      if (!(caught instanceof Unreachable)) changed();
      setError(caught);
    } finally {
      setPending(false);
    }
  };
  return { error, isPending, send, changed };
}
