/**
 * The secret of a key, shown once. It is in this component's props and on the screen, and nowhere else: in no cache, no
 * storage, no address, no entry of the history.
 */
import { Alert, Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Icon } from '../layout/icons.js';
import { StoredFooter } from '../layout/stored-footer.js';
import { useExampleUrl } from './example-url.js';

interface SecretStepProps {
  readonly secret: string;
  readonly scopes: readonly string[];
  /** Somebody wants to leave and has not said that the secret is stored. */
  readonly isLeaving: boolean;
  readonly onStay: () => void;
  readonly onDone: () => void;
  readonly children?: ReactNode;
}

export function SecretStep({ secret, scopes, isLeaving, onStay, onDone, children }: SecretStepProps) {
  const { t } = useLingui();
  const url = useExampleUrl(scopes);
  return (
    <Stack gap="lg">
      {isLeaving ? (
        <Alert color="red" variant="light" role="alert" title={t`Leave without the secret?`}>
          <Stack gap="sm">
            <Text size="sm">
              <Trans>When this is closed, the secret is gone. You would have to give the key a new one.</Trans>
            </Text>
            <Group>
              <Button size="xs" variant="default" onClick={onStay}>
                <Trans>Stay</Trans>
              </Button>
              <Button size="xs" color="red" onClick={onDone}>
                <Trans>Leave</Trans>
              </Button>
            </Group>
          </Stack>
        </Alert>
      ) : (
        <Alert color="orange" variant="light" icon={<Icon name="warn" />} title={t`Copy it now`}>
          <Trans>This is the only time that the secret is shown. Nobody can read it again, not even we.</Trans>
        </Alert>
      )}
      {children}
      <Line label={t`Secret`} text={secret} autoFocus />
      <Line label={t`For a .env file`} text={`API_KEY=${secret}`} />
      {url !== null && (
        <Line label={t`To try it in a terminal`} text={`curl -H "Authorization: Bearer ${secret}" "${url}"`} />
      )}
      <Text size="sm" c="dimmed">
        <Trans>
          Keep it in a password manager or the settings of your server. Not in a mail, a chat or a web page.
        </Trans>
      </Text>
      <StoredFooter label={t`I have stored it in a safe place`} onDone={onDone} />
    </Stack>
  );
}

interface LineProps {
  readonly label: string;
  readonly text: string;
  readonly autoFocus?: boolean;
}

function Line({ label, text, autoFocus = false }: LineProps) {
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
