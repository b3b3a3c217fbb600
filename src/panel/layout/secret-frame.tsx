/** Shows a secret once. Only this component's props hold it: no cache, storage, address or history entry. */
import { Alert, Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Icon } from './icons.js';
import { LeaveAlert } from './leave-alert.js';
import type { Leaving } from './secret-dialog.js';
import { StoredFooter } from './stored-footer.js';

interface SecretFrameProps extends Leaving {
  /** What the user must do if they leave without saving it. */
  readonly lost: string;
  /** Description of the secret, and the lines to copy. */
  readonly children: ReactNode;
}

export function SecretFrame({ lost, isLeaving, onStay, onDone, children }: SecretFrameProps) {
  const { t } = useLingui();
  return (
    <Stack gap="lg">
      {isLeaving ? (
        <LeaveAlert title={t`Close without saving?`} lost={lost} onStay={onStay} onLeave={onDone} />
      ) : (
        <Alert color="orange" variant="light" icon={<Icon name="warn" />} title={t`Copy it now`}>
          <Trans>You won't be able to see it again.</Trans>
        </Alert>
      )}
      {children}
      <Text size="sm" c="dimmed">
        <Trans>
          Store it in a password manager or your server's environment. Never put it in email, chat or client-side code.
        </Trans>
      </Text>
      <StoredFooter label={t`I've saved this secret`} onDone={onDone} />
    </Stack>
  );
}

interface SecretLineProps {
  readonly label: string;
  readonly text: string;
  readonly autoFocus?: boolean;
}

/** A text with a copy button. */
export function SecretLine({ label, text, autoFocus = false }: SecretLineProps) {
  const { t } = useLingui();
  return (
    <div>
      <Group justify="space-between" pb={6} wrap="nowrap">
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button
              size="xs"
              variant={copied ? 'light' : 'default'}
              leftSection={<Icon name={copied ? 'check' : 'copy'} size={15} />}
              onClick={copy}
              style={{ flexShrink: 0 }}
              data-autofocus={autoFocus || undefined}
              aria-label={t`Copy: ${label}`}
            >
              {copied ? t`Copied` : t`Copy`}
            </Button>
          )}
        </CopyButton>
      </Group>
      <Code block className="secret" translate="no">
        {text}
      </Code>
    </div>
  );
}
