/** Stands over every page of an account that is suspended. */
import { Alert } from '@mantine/core';
import { Trans } from '@lingui/react/macro';

export function SuspendedNotice() {
  return (
    <Alert color="orange" variant="light" mb="lg" title={<Trans>This account is suspended</Trans>}>
      <Trans>Its keys are refused. Everything can be read, and nothing changed.</Trans>
    </Alert>
  );
}
