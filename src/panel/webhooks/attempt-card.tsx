/** Card with one delivery attempt of a webhook: time, duration, and response or error. */
import { Code, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useAccount } from '../session/accounts.js';
import { ResponseStatus } from '../words/response-status.js';
import { useFormats } from '../words/times.js';
import { useErrorText } from './webhook-labels.js';
import type { Attempt } from './webhooks.js';

export function AttemptCard({ attempt }: { readonly attempt: Attempt }) {
  const { i18n } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  const errorWords = useErrorText();
  const duration = new Intl.NumberFormat(i18n.locales ?? i18n.locale, { style: 'unit', unit: 'millisecond' });
  return (
    <Stack gap={6}>
      <Group gap="sm">
        {attempt.status_code !== null && <ResponseStatus status={attempt.status_code} />}
        <Text size="sm">
          {time(attempt.at)} · {duration.format(attempt.duration_ms)}
        </Text>
      </Group>
      {attempt.error !== null && (
        <Text size="sm" className="name">
          {errorWords(attempt.error)}{' '}
          <Text span inherit c="dimmed" ff="monospace">
            {attempt.error}
          </Text>
        </Text>
      )}
      {attempt.response_body !== null && attempt.response_body !== '' && (
        <>
          <Text size="sm" c="dimmed">
            <Trans>Response body (first 1 KB)</Trans>
          </Text>
          {/* The response body is untrusted input, so it is rendered as text only. */}
          <Code block className="secret" tabIndex={0} translate="no">
            {attempt.response_body}
          </Code>
        </>
      )}
    </Stack>
  );
}
