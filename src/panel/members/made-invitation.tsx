/** Dialog step after an invitation was created or resent. It says that an email was sent, or shows the link once. */
import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';

/** Invitation that was just created or resent. */
export interface Made {
  readonly email: string;
  /** Invitation link. Null if an email contains the link. */
  readonly link: string | null;
}

export function MadeInvitation({ made, onDone }: { readonly made: Made; readonly onDone: () => void }) {
  const { t } = useLingui();
  return (
    <Stack gap="md">
      <Text className="name">
        {made.link === null ? (
          <Trans>We sent an email to {made.email}.</Trans>
        ) : (
          <Trans>
            Share this link only with {made.email}. It works once and expires in 7 days. You won't see it again.
          </Trans>
        )}
      </Text>
      {made.link !== null && (
        <>
          <Code block className="secret" translate="no">
            {made.link}
          </Code>
          <CopyButton value={made.link}>
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
