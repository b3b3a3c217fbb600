/** Button that asks the user for a passkey, sends the passkey to the API, and shows failures. */
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Icon } from '../layout/icons.js';
import { Failure } from '../words/failure.js';

interface PasskeyButtonProps<T> {
  readonly label: string;
  /**
   * Asks for the passkey, sends the passkey to the API, and returns the result. If the promise rejects, the button
   * shows the error.
   */
  readonly show: () => Promise<T>;
  /** Called with the result of `show`. */
  readonly onShown: (result: T) => void;
}

export function PasskeyButton<T>({ label, show, onShown }: PasskeyButtonProps<T>) {
  const request = useMutation({ gcTime: 0, mutationFn: show, onSuccess: onShown });
  return (
    <>
      <Button
        variant="default"
        size="md"
        leftSection={<Icon name="key" />}
        loading={request.isPending}
        onClick={() => request.mutate()}
      >
        {label}
      </Button>
      {request.error !== null && <Failure error={request.error} />}
    </>
  );
}
