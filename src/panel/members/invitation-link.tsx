/** Dialog step after an invitation was created or resent. It says that an email was sent, or shows the link once. */
import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';

/** Invitation that was just created or resent. */
export interface InvitationLink {
  readonly email: string;
  /** Invitation link. Null if an email contains the link. */
  readonly link: string | null;
}

export function InvitationLinkStep({
  invitation,
  onDone,
}: {
  readonly invitation: InvitationLink;
  readonly onDone: () => void;
}) {
  const { t } = useLingui();
  return (
    <Stack gap="md">
      <Text className="name">
        {invitation.link === null ? (
          <Trans>We sent an email to {invitation.email}.</Trans>
        ) : (
          <Trans>
            Share this link only with {invitation.email}. It works once and expires in 7 days. You won't see it again.
          </Trans>
        )}
      </Text>
      {invitation.link !== null && (
        <>
          <Code block className="secret" translate="no">
            {invitation.link}
          </Code>
          <CopyButton value={invitation.link}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy} data-autofocus>
                {copied ? t`Copied` : t`Copy`}
              </Button>
            )}
          </CopyButton>
        </>
      )}
      <Group justify="flex-end">
        <Button onClick={onDone}>
          <Trans>Done</Trans>
        </Button>
      </Group>
    </Stack>
  );
}
