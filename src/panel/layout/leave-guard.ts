/** Protects an unsaved secret from the browser's back button and from staying on a restored page. */
import { useEffect, useEffectEvent } from 'react';
import { flushSync } from 'react-dom';

/**
 * While a secret is shown, the back button asks first. When the page is hidden for good or cached by the browser, the
 * secret is removed from it.
 * @param onBack called when the user went back; the page stays.
 * @param forget removes the secret from the page.
 */
export function useLeaveGuard(isShown: boolean, onBack: () => void, forget: () => void): void {
  const askFirst = useEffectEvent(onBack);
  const takeOff = useEffectEvent(forget);
  useEffect(() => {
    if (!isShown) return;
    let isUsed = false;
    let isHidden = false;
    // Adds a history entry without the secret, which the back button consumes.
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
      // On a page that is being left, this would navigate away from the new page.
      if (!isHidden) history.back();
    };
  }, [isShown]);
}
