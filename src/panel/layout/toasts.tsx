/**
 * Toasts: short messages that report a completed action and offer to undo it. If the undo fails, the message says so.
 */
import { Alert, Button, Group, Portal, Stack, Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useEffect, useState, useSyncExternalStore } from 'react';

/**
 * Time until a message disappears, in milliseconds. While the user hovers over or focuses the message, the time is
 * paused. After that, the full time starts again (WCAG 2.2.1).
 */
const SHOWN_MS = 12_000;

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly undo: () => Promise<unknown>;
}

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function setToasts(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const hide = (id: number): void => setToasts(toasts.filter((each) => each.id !== id));

/** Shows a message with an undo button. The message replaces the previous message. */
export function showUndo(text: string, undo: () => Promise<unknown>): void {
  lastId += 1;
  setToasts([{ id: lastId, text, undo }]);
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <Portal>
      <div className="toasts" role="status" aria-live="polite">
        {shown.map((toast) => (
          <ToastAlert key={toast.id} toast={toast} />
        ))}
      </div>
    </Portal>
  );
}

function ToastAlert({ toast }: { readonly toast: Toast }) {
  const [isPaused, setPaused] = useState(false);
  const [state, setState] = useState<'offered' | 'undoing' | 'failed'>('offered');
  useEffect(() => {
    if (isPaused || state === 'undoing') return undefined;
    const timer = setTimeout(() => hide(toast.id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isPaused, state, toast.id]);
  const undo = (): void => {
    setState('undoing');
    toast.undo().then(
      () => hide(toast.id),
      () => setState('failed'),
    );
  };
  return (
    <Alert
      variant="filled"
      color="dark"
      onMouseEnter={() => setPaused(true)}
      onMouseLeave={() => setPaused(false)}
      onFocus={() => setPaused(true)}
      onBlur={() => setPaused(false)}
    >
      <Group justify="space-between" wrap="nowrap" gap="lg">
        <Stack gap={2}>
          <Text size="sm" className="name">
            {toast.text}
          </Text>
          {state === 'failed' && (
            <Text size="sm">
              <Trans>Couldn't undo this. Try again, or change it on its page.</Trans>
            </Text>
          )}
        </Stack>
        <Button size="xs" variant="white" color="dark" loading={state === 'undoing'} onClick={undo}>
          <Trans>Undo</Trans>
        </Button>
      </Group>
    </Alert>
  );
}
