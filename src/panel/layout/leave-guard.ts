/** Keeps the browser's back button, and the end of the page, from taking a secret away before it was stored. */
import { useEffect, useEffectEvent, useState } from 'react';
import { flushSync } from 'react-dom';

/**
 * While a secret is shown, going back asks first. When the page is hidden for good or put aside by the browser, the
 * secret is taken off it: a page that comes back has none.
 * @param onBack Somebody went back, and is still here.
 * @param forget Takes the secret off the page.
 */
export function useLeaveGuard(isShown: boolean, onBack: () => void, forget: () => void): void {
  const askFirst = useEffectEvent(onBack);
  const takeOff = useEffectEvent(forget);
  useEffect(() => {
    if (!isShown) return;
    let isUsed = false;
    // An entry of its own, without the secret, that going back uses up.
    history.pushState(history.state, '');
    const back = (): void => {
      if (isUsed) return;
      history.pushState(history.state, '');
      askFirst();
    };
    const unload = (event: BeforeUnloadEvent): void => event.preventDefault();
    const hide = (): void => flushSync(() => takeOff());
    addEventListener('popstate', back);
    addEventListener('beforeunload', unload);
    addEventListener('pagehide', hide);
    return () => {
      isUsed = true;
      removeEventListener('popstate', back);
      removeEventListener('beforeunload', unload);
      removeEventListener('pagehide', hide);
      history.back();
    };
  }, [isShown]);
}

/** A secret that a dialog shows once, with the question that is asked before the dialog loses it. */
export interface ShownOnce<Secret> {
  /** Null while there is nothing to show. Only this state holds it. */
  readonly secret: Secret | null;
  readonly show: (secret: Secret) => void;
  /** Whether the reader wants to leave and has not said that it is stored. */
  readonly isLeaving: boolean;
  /** Asks whether to leave: the handler of Escape and of the close button. */
  readonly askToLeave: () => void;
  readonly stay: () => void;
  /** Takes the secret off the page. */
  readonly forget: () => void;
}

/** Holds a secret for a dialog, behind `useLeaveGuard`. Calls `onForgotten` after the secret is off the page. */
export function useShownOnce<Secret>(onForgotten: () => void): ShownOnce<Secret> {
  const [secret, show] = useState<Secret | null>(null);
  const [isLeaving, setLeaving] = useState(false);
  const askToLeave = (): void => setLeaving(true);
  const forget = (): void => {
    show(null);
    setLeaving(false);
    onForgotten();
  };
  useLeaveGuard(secret !== null, askToLeave, forget);
  return { secret, show, isLeaving, askToLeave, stay: () => setLeaving(false), forget };
}
