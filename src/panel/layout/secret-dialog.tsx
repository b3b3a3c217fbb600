/**
 * Dialog that creates a secret and shows it once. The secret exists only in the state of the dialog. While the secret
 * is visible, only the Done button closes the dialog without a confirmation.
 */
import { useCallback, useEffect, useEffectEvent, useState, type ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { Dialog } from './dialog.js';

/** Props with which the step that shows the secret controls how the user leaves the step. */
export interface LeaveConfirmation {
  /** Whether the user tried to close the dialog. If true, the step asks for confirmation. */
  readonly isLeaving: boolean;
  /** Cancels the confirmation, so that the user sees the secret again. */
  readonly onStay: () => void;
  /** Removes the secret and closes the dialog. */
  readonly onDone: () => void;
}

interface SecretDialogProps<Made> {
  readonly opened: boolean;
  /**
   * Called when the user cancels the form, and when the secret was created. The caller leaves the `/new` path, so that
   * going back later does not reopen the form. The dialog stays open until the secret is saved.
   */
  readonly onClose: () => void;
  readonly title: string;
  /** Title of the step with the secret. */
  readonly createdTitle: string;
  /** Whether a click outside the dialog keeps the form open, so that its values are not lost. */
  readonly keepsForm?: boolean;
  readonly size?: number;
  /** Renders the form. `onCreated` receives the new secret. */
  readonly form: (onCreated: (made: Made) => void) => ReactNode;
  /** Renders the step that shows the secret. */
  readonly secret: (made: Made, leaving: LeaveConfirmation) => ReactNode;
  /** Called after the dialog has removed the secret. */
  readonly onForgotten?: () => void;
}

export function SecretDialog<Made>(props: SecretDialogProps<Made>) {
  const { opened, onClose, title, createdTitle, keepsForm = false, size = 640, form, secret, onForgotten } = props;
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
  const onCreated = (created: Made): void => {
    setMade(created);
    onClose();
  };
  return (
    <Dialog
      opened={opened || made !== null}
      onClose={made === null ? onClose : askToLeave}
      closeOnClickOutside={made === null && !keepsForm}
      title={made === null ? title : createdTitle}
      size={size}
    >
      {made === null ? form(onCreated) : secret(made, { isLeaving, onStay, onDone })}
    </Dialog>
  );
}

/**
 * Protects a secret while it is visible. The back button calls `onBack` instead of leaving the page. Closing the tab
 * asks for confirmation. If the user leaves anyway, `forget` removes the secret, because the browser can keep the page
 * in memory.
 * @param onBack called when the user pressed the back button.
 * @param forget removes the secret from the page.
 */
function useLeaveGuard(isShown: boolean, onBack: () => void, forget: () => void): void {
  const askFirst = useEffectEvent(onBack);
  const removeSecret = useEffectEvent(forget);
  useEffect(() => {
    if (!isShown) return;
    let isStopped = false;
    let isHidden = false;
    // The back button consumes this extra history entry, and the page stays open. The entry does not contain the
    // secret.
    history.pushState(history.state, '');
    const onPopState = (): void => {
      if (isStopped) return;
      history.pushState(history.state, '');
      askFirst();
    };
    const onBeforeUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    const onPageHide = (): void => {
      isHidden = true;
      flushSync(() => removeSecret());
    };
    addEventListener('popstate', onPopState);
    addEventListener('beforeunload', onBeforeUnload);
    addEventListener('pagehide', onPageHide);
    return () => {
      isStopped = true;
      removeEventListener('popstate', onPopState);
      removeEventListener('beforeunload', onBeforeUnload);
      removeEventListener('pagehide', onPageHide);
      // Remove the extra history entry, except on a page that is being left. There, going back would undo the
      // navigation.
      if (!isHidden) history.back();
    };
  }, [isShown]);
}
