/** Stands over every page of an account that is suspended. */
import { Alert } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMe } from '../session/session.js';

export function SuspendedNotice() {
  const isOperator = useMe().member?.is_operator === true;
  return (
    <Alert color="orange" variant="light" mb="lg" title={<Trans>This account is suspended</Trans>}>
      {isOperator ? (
        <Trans>
          Its keys are refused. Its members can read everything and change nothing; operators can change it.
        </Trans>
      ) : (
        <Trans>Its keys are refused. Everything can be read, and nothing changed.</Trans>
      )}
    </Alert>
  );
}
