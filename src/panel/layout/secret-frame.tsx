/**
 * Dialog step that shows a secret once, with warnings and copy buttons. The secret is only in the props, never in a
 * cache, in storage, in the URL or in the history.
 */
import { Alert, Button, Checkbox, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState, type ReactNode } from 'react';
import { Icon } from './icons.js';
import type { LeaveConfirmation } from './secret-dialog.js';

interface SecretFrameProps extends LeaveConfirmation {
  /** Tells users how to replace a secret that they did not save. */
  readonly lost: string;
  /** Description of the secret, and the texts to copy. */
  readonly children: ReactNode;
}

export function SecretFrame({ lost, isLeaving, onStay, onDone, children }: SecretFrameProps) {
  const { t } = useLingui();
  return (
    <Stack gap="lg">
      {isLeaving ? (
        <LeaveAlert title={t`Close without saving?`} lost={lost} onStay={onStay} onLeave={onDone} />
      ) : (
        <Alert color="orange" variant="light" icon={<Icon name="warn" />} title={t`Copy your secret now`}>
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

/** SecretLine shows a text with a label and a copy button. */
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

interface LeaveAlertProps {
  readonly title: string;
  /** Tells users how to replace a secret that they did not save. */
  readonly lost: string;
  readonly onStay: () => void;
  readonly onLeave: () => void;
}

/** LeaveAlert asks for confirmation before closing a dialog that shows something only once. */
export function LeaveAlert({ title, lost, onStay, onLeave }: LeaveAlertProps) {
  return (
    <Alert color="red" variant="light" role="alert" title={title}>
      <Stack gap="sm">
        <Text size="sm">{lost}</Text>
        <Group>
          <Button size="xs" variant="default" onClick={onStay}>
            <Trans>Go back</Trans>
          </Button>
          <Button size="xs" color="red" onClick={onLeave}>
            <Trans>Close anyway</Trans>
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

interface StoredFooterProps {
  /** Text of the checkbox. */
  readonly label: string;
  readonly onDone: () => void;
}

/**
 * StoredFooter is the footer of a step that shows a secret once. A checkbox, which confirms that the secret is saved,
 * enables the Done button.
 */
export function StoredFooter({ label, onDone }: StoredFooterProps) {
  const [isStored, setStored] = useState(false);
  return (
    <Group justify="space-between">
      <Checkbox label={label} checked={isStored} onChange={(event) => setStored(event.currentTarget.checked)} />
      <Button disabled={!isStored} onClick={onDone}>
        <Trans>Done</Trans>
      </Button>
    </Group>
  );
}
