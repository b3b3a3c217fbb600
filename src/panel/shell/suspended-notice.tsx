/** Notice on every page of a suspended account. It says that all keys are rejected, and who can still make changes. */
import { Alert } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { useMe } from '../session/session.js';

export function SuspendedNotice() {
  const isOperator = useMe().member?.is_operator === true;
  return (
    <Alert color="orange" variant="light" mb="lg" title={<Trans>This account is suspended</Trans>}>
      {isOperator ? (
        <Trans>
          All keys are rejected. Members can view everything but not make changes. Operators can make changes.
        </Trans>
      ) : (
        <Trans>All keys are rejected. You can view everything, but not make changes.</Trans>
      )}
    </Alert>
  );
}
