/** Button that asks for a passkey and reports failures. */
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Icon } from '../layout/icons.js';
import { Failure } from '../words/failure.js';

interface PasskeyButtonProps<T> {
  readonly label: string;
  readonly show: () => Promise<T>;
  readonly onShown: (result: T) => void;
}

export function PasskeyButton<T>({ label, show, onShown }: PasskeyButtonProps<T>) {
  const showing = useMutation({ gcTime: 0, mutationFn: show, onSuccess: onShown });
  return (
    <>
      <Button
        variant="default"
        size="md"
        leftSection={<Icon name="key" />}
        loading={showing.isPending}
        onClick={() => showing.mutate()}
      >
        {label}
      </Button>
      {showing.error !== null && <Failure error={showing.error} />}
    </>
  );
}
