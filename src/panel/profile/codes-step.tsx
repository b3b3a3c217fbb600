/** Dialog step that shows the recovery codes once. The codes are only in the props, never in a cache or in storage. */
import { Alert, Button, Code, CopyButton, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { Icon } from '../layout/icons.js';
import { LeaveAlert, StoredFooter } from '../layout/secret-frame.js';
import type { LeaveConfirmation } from '../layout/secret-dialog.js';

interface CodesStepProps extends LeaveConfirmation {
  readonly codes: readonly string[];
}

export function CodesStep({ codes, isLeaving, onStay, onDone }: CodesStepProps) {
  const { t } = useLingui();
  return (
    <Stack gap="md">
      {isLeaving ? (
        <LeaveAlert
          title={t`Close without saving the codes?`}
          lost={t`You can't view these codes again. You'd need to create new ones in your profile.`}
          onStay={onStay}
          onLeave={onDone}
        />
      ) : (
        <Alert color="orange" variant="light" icon={<Icon name="warn" />} title={t`Save your recovery codes`}>
          <Trans>You won't be able to see them again. Each code works once if you lose access to your app.</Trans>
        </Alert>
      )}
      <SimpleGrid
        component="ul"
        className="plain-list"
        cols={{ base: 1, xs: 2 }}
        spacing={6}
        aria-label={t`Recovery codes`}
      >
        {codes.map((code) => (
          <li key={code}>
            <Code block translate="no">
              {code}
            </Code>
          </li>
        ))}
      </SimpleGrid>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" flex="1 1 200px">
          <Trans>Store them somewhere other than this phone.</Trans>
        </Text>
        <CopyButton value={codes.join('\n')}>
          {({ copied, copy }) => (
            <Button
              size="xs"
              variant={copied ? 'light' : 'default'}
              leftSection={<Icon name={copied ? 'check' : 'copy'} size={15} />}
              onClick={copy}
              data-autofocus
            >
              {copied ? t`Copied` : t`Copy all`}
            </Button>
          )}
        </CopyButton>
      </Group>
      <StoredFooter label={t`I've saved these codes`} onDone={onDone} />
    </Stack>
  );
}
