/** The state of a dialog that shows a secret once. Only the dialog holds it, and leaving without it asks first. */
import { useCallback, useState } from 'react';
import { useLeaveGuard } from './leave-guard.js';

/** ShownSecret is what the dialog knows. */
export interface ShownSecret<T> {
  /** What was made, with its secret; null before, and after the dialog was closed. */
  readonly made: T | null;
  readonly show: (made: T) => void;
  /** Whether somebody wants to leave and has not said that the secret is stored. */
  readonly isLeaving: boolean;
  readonly askToLeave: () => void;
  readonly stay: () => void;
  readonly forget: () => void;
}

/** @param onForgotten called after the secret is off the page. */
export function useShownSecret<T>(onForgotten?: () => void): ShownSecret<T> {
  const [made, setMade] = useState<T | null>(null);
  const [isLeaving, setLeaving] = useState(false);
  const askToLeave = useCallback(() => setLeaving(true), []);
  const stay = useCallback(() => setLeaving(false), []);
  const forget = useCallback(() => {
    setMade(null);
    setLeaving(false);
    onForgotten?.();
  }, [onForgotten]);
  useLeaveGuard(made !== null, askToLeave, forget);
  return { made, show: setMade, isLeaving, askToLeave, stay, forget };
}
