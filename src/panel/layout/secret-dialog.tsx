/** A dialog that creates a secret and shows it once. Only the dialog holds it, and closing it asks first. */
import { useCallback, useEffect, useEffectEvent, useState, type ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { Dialog } from './dialog.js';

/** State of leaving the step with the secret. */
export interface Leaving {
  /** Whether the user wants to leave before confirming that the secret is saved. */
  readonly isLeaving: boolean;
  readonly onStay: () => void;
  readonly onDone: () => void;
}

interface SecretDialogProps<Made> {
  readonly opened: boolean;
  /** Called when the form is canceled or done, so that going back later does not reopen it. */
  readonly onClose: () => void;
  readonly title: string;
  /** Title of the step with the secret. */
  readonly madeTitle: string;
  /** Whether a click outside keeps the form open, because it has many fields. */
  readonly keepsForm?: boolean;
  readonly size?: number;
  readonly form: (onMade: (made: Made) => void) => ReactNode;
  /** Renders the result with its secret. */
  readonly secret: (made: Made, leaving: Leaving) => ReactNode;
  /** Called after the secret was removed from the page. */
  readonly onForgotten?: () => void;
}

export function SecretDialog<Made>(props: SecretDialogProps<Made>) {
  const { opened, onClose, title, madeTitle, keepsForm = false, size = 640, form, secret, onForgotten } = props;
  const [made, setMade] = useState<Made | null>(null);
  const [isLeaving, setLeaving] = useState(false);
  const askToLeave = useCallback(() => setLeaving(true), []);
  const onStay = useCallback(() => setLeaving(false), []);
  const onDone = useCallback(() => {
    setMade(null);
    setLeaving(false);
    onForgotten?.();
  }, [onForgotten]);
  useLeaveGuard(made !== null, askToLeave, onDone);
  const onMade = (it: Made): void => {
    setMade(it);
    onClose();
  };
  return (
    <Dialog
      opened={opened || made !== null}
      onClose={made === null ? onClose : askToLeave}
      closeOnClickOutside={made === null && !keepsForm}
      title={made === null ? title : madeTitle}
      size={size}
    >
      {made === null ? form(onMade) : secret(made, { isLeaving, onStay, onDone })}
    </Dialog>
  );
}

/**
 * While a secret is shown, the back button asks first. When the page is hidden for good or cached by the browser, the
 * secret is removed from it.
 * @param onBack called when the user went back; the page stays.
 * @param forget removes the secret from the page.
 */
function useLeaveGuard(isShown: boolean, onBack: () => void, forget: () => void): void {
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
