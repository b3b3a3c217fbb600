/** Keeps the browser's back button, and the end of the page, from taking a secret away before it was stored. */
import { useEffect, useEffectEvent } from 'react';
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
    let isHidden = false;
    // An entry of its own, without the secret, that going back uses up.
    history.pushState(history.state, '');
    const back = (): void => {
      if (isUsed) return;
      history.pushState(history.state, '');
      askFirst();
    };
    const unload = (event: BeforeUnloadEvent): void => event.preventDefault();
    const hide = (): void => {
      isHidden = true;
      flushSync(() => takeOff());
    };
    addEventListener('popstate', back);
    addEventListener('beforeunload', unload);
    addEventListener('pagehide', hide);
    return () => {
      isUsed = true;
      removeEventListener('popstate', back);
      removeEventListener('beforeunload', unload);
      removeEventListener('pagehide', hide);
      // From a page that is left it would go back from the one that was gone to.
      if (!isHidden) history.back();
    };
  }, [isShown]);
}
