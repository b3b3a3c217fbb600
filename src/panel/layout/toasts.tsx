/** Short messages after an action, with an undo button. */
import { Alert, Button, Group, Portal, Stack, Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useEffect, useState, useSyncExternalStore } from 'react';

/** Time to read and undo, in milliseconds. It pauses while hovered (WCAG 2.2.1). */
const SHOWN_MS = 12_000;

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly undo: () => Promise<unknown>;
}

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function replace(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const hide = (id: number): void => replace(toasts.filter((each) => each.id !== id));

/** Shows a message with an undo button. It replaces the previous message. */
export function showUndo(text: string, undo: () => Promise<unknown>): void {
  lastId += 1;
  replace([{ id: lastId, text, undo }]);
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
          <Shown key={toast.id} toast={toast} />
        ))}
      </div>
    </Portal>
  );
}

function Shown({ toast }: { readonly toast: Toast }) {
  const [isHeld, setHeld] = useState(false);
  const [state, setState] = useState<'offered' | 'undoing' | 'failed'>('offered');
  useEffect(() => {
    if (isHeld || state === 'undoing') return undefined;
    const timer = setTimeout(() => hide(toast.id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isHeld, state, toast.id]);
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
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
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
