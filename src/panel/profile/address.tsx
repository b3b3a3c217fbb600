/**
 * Profile section with the email address for sign-in. It shows whether the address is verified, and can send a
 * verification link if the installation can send email.
 */
import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.js';
import { Section } from '../layout/section.js';
import { useMe } from '../session/session.js';
import { useSignInMethods } from '../session/sign-in-methods.js';
import { Failure } from '../words/failure.js';

export function Address() {
  const { t } = useLingui();
  const { member } = useMe();
  const hasMail = useSignInMethods().data?.mail;
  const send = useMutation({ mutationFn: () => unwrap(api.POST('/admin/v1/me/address-verification')) });
  const isVerified = member?.email_verified === true;
  return (
    <Section
      title={t`Sign-in address`}
      description={<Trans>Password reset links are only sent to verified addresses.</Trans>}
      actions={
        !isVerified && hasMail === true ? (
          <Button variant="default" loading={send.isPending} onClick={() => send.mutate()}>
            <Trans>Verify address</Trans>
          </Button>
        ) : undefined
      }
    >
      <Stack gap="sm">
        <Group gap="sm">
          <Text size="sm" className="name">
            {member?.email}
          </Text>
          <Badge variant="light" color={isVerified ? 'green' : 'orange'}>
            {isVerified ? t`Verified` : t`Not verified`}
          </Badge>
        </Group>
        {!isVerified && hasMail === false && (
          <Text size="sm" c="dimmed">
            <Trans>Email isn't set up, so no link can be sent.</Trans>
          </Text>
        )}
        {send.isSuccess && !isVerified && (
          <Text size="sm" role="status">
            <Trans>We sent you a link. It works once and expires in 24 hours.</Trans>
          </Text>
        )}
        {send.error !== null && <Failure error={send.error} />}
      </Stack>
    </Section>
  );
}
