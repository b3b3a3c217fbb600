/**
 * Notice for members who signed in with a link and have no other sign-in method. When the session ends, they need a new
 * link.
 */
import { Alert, Button, Group, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link, useLocation } from 'wouter';
import { Icon } from '../layout/icons.js';
import { useMe } from '../session/session.js';

export function SignInNotice() {
  const { t } = useLingui();
  const [location] = useLocation();
  const { member } = useMe();
  if (member === null || member.can_sign_in) return null;
  return (
    <Alert
      color="orange"
      variant="light"
      mb="lg"
      icon={<Icon name="warn" />}
      title={t`Set a password or add a passkey to sign in again`}
    >
      <Group justify="space-between" gap="sm">
        <Text size="sm" flex="1 1 260px">
          <Trans>You signed in with a link, which works once. When this session ends, you need a new link.</Trans>
        </Text>
        {location !== '/profile' && (
          <Button component={Link} href="/profile" size="xs" variant="default">
            <Trans>Open your profile</Trans>
          </Button>
        )}
      </Group>
    </Alert>
  );
}
