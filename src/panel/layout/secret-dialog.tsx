/** A dialog that makes a secret and then shows it once. Only the dialog holds it, and leaving without it asks first. */
import { useCallback, useState, type ReactNode } from 'react';
import { Dialog } from './dialog.js';
import { useLeaveGuard } from './leave-guard.js';

/** How the step that shows the secret is left. */
export interface Leaving {
  /** Whether somebody wants to leave and has not said that the secret is stored. */
  readonly isLeaving: boolean;
  readonly onStay: () => void;
  readonly onDone: () => void;
}

interface SecretDialogProps<Made> {
  readonly opened: boolean;
  /** Called when the form is left, and when the secret was made: going back later must not lead to the form. */
  readonly onClose: () => void;
  readonly title: string;
  /** The title beside the secret. */
  readonly madeTitle: string;
  /** Whether a press beside the form leaves it open, because much is typed there. */
  readonly keepsForm?: boolean;
  readonly size?: number;
  readonly form: (onMade: (made: Made) => void) => ReactNode;
  /** Draws what was made, with its secret. */
  readonly secret: (made: Made, leaving: Leaving) => ReactNode;
  /** Called after the secret is off the page. */
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
