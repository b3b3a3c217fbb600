/** Sends what makes a secret: once, although it is sent again where no response came. */
import { useRef, useState } from 'react';
import { Unreachable } from './problem.js';

export interface SentOnce {
  /** Why it failed; null while it has not. */
  readonly error: unknown;
  readonly isPending: boolean;
  /** Sends under an id that stays the same while no response came: then it may have been made already. */
  readonly send: (make: (requestId: string) => Promise<void>) => Promise<void>;
  /** What is to be sent has changed: it is another request now. */
  readonly changed: () => void;
}

/** By hand and not by a mutation, whose cache would hold the secret as well. */
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
