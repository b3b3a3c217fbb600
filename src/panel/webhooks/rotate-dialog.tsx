/**
 * Dialog that rotates the signing secret of a webhook endpoint. The user chooses how long events are also signed with
 * the current secret. The dialog then shows the new secret once.
 */
import { Alert, Radio, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { hasCode } from '../api/problem.js';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import { SecretDialog } from '../layout/secret-dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { EndpointSecret } from './endpoint-secret.js';
import { useAccount } from '../session/accounts.js';
import { useFormats } from '../words/times.js';
import { previousSecretEnds, refetchEndpoint, rotateSecret, type Endpoint } from './webhooks.js';

const DAY_SECONDS = '86400';
/**
 * Maximum number of previous secrets. The API keeps three secrets. With two previous secrets, a rotation must end the
 * oldest secret.
 */
const MAX_PREVIOUS = 2;

interface RotateDialogProps {
  readonly shown: Endpoint;
  readonly etag: string | null;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function RotateDialog({ shown, etag, opened, onClose }: RotateDialogProps) {
  const { t } = useLingui();
  return (
    <SecretDialog<string>
      opened={opened}
      onClose={onClose}
      title={t`Rotate secret`}
      createdTitle={t`New signing secret`}
      form={(onCreated) => <RotateForm shown={shown} etag={etag} onCreated={onCreated} onCancel={onClose} />}
      secret={(secret, leaving) => <EndpointSecret url={shown.url} secret={secret} {...leaving} />}
    />
  );
}

interface RotateFormProps {
  readonly shown: Endpoint;
  readonly etag: string | null;
  readonly onCreated: (secret: string) => void;
  readonly onCancel: () => void;
}

function RotateForm({ shown, etag, onCreated, onCancel }: RotateFormProps) {
  const { t } = useLingui();
  const [overlap, setOverlap] = useState(DAY_SECONDS);
  const { error, isPending, send, changed } = useIdempotentRequest();
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  const ends = previousSecretEnds(shown);
  const [last] = ends;
  const until = last === undefined ? '' : time(last);
  const endsPrevious = ends.length >= MAX_PREVIOUS;
  const rotate = () =>
    send(async (requestId) => {
      // The request ends the oldest secret only if the dialog warned about that. Otherwise, the API rejects a rotation
      // that would have to end a secret early.
      const body = { overlap_seconds: Number(overlap), end_previous_secret: endsPrevious };
      const { secret } = await rotateSecret(shown.id, body, etag, requestId).catch((caught: unknown) => {
        // Refetch the endpoint, so that the dialog shows the current state of the endpoint before the next attempt.
        if (hasCode(caught, 'precondition_failed', 'previous_secret_active')) void refetchEndpoint(shown);
        throw caught;
      });
      onCreated(secret);
      void refetchEndpoint(shown);
    });
  return (
    <DialogForm
      submitLabel={t`Create new secret`}
      cancelLabel={endsPrevious ? t`Keep previous secrets` : undefined}
      color={overlap === '0' || endsPrevious ? 'red' : 'river'}
      error={error}
      isPending={isPending}
      onSubmit={() => void rotate()}
      onCancel={onCancel}
    >
      {until !== '' && (
        <Alert variant="light" color="orange" title={endsPrevious ? t`Rotating ends the oldest secret` : undefined}>
          <Text size="sm">
            {endsPrevious ? (
              <Trans>
                Previous secrets sign until {until}. Three secrets can sign at a time, so the oldest one ends with this
                rotation. A receiver that only knows it will reject every event.
              </Trans>
            ) : (
              <Trans>
                A previous secret signs until {until}. It stops earlier if you choose a shorter time for the current
                one.
              </Trans>
            )}
          </Text>
        </Alert>
      )}
      <Text>
        <Trans>
          Events are signed with both secrets until the current one expires. The receiver can switch without missing
          any.
        </Trans>
      </Text>
      <Radio.Group
        label={t`Expire current secret`}
        value={overlap}
        onChange={(value) => {
          changed();
          setOverlap(value);
        }}
      >
        <Stack gap={10} pt={8}>
          <Radio value="604800" label={t`In 7 days`} />
          <Radio value={DAY_SECONDS} label={t`In 24 hours`} data-autofocus />
          <Radio value="3600" label={t`In 1 hour`} />
          <Radio value="0" label={t`Immediately`} description={t`If it may be compromised.`} />
        </Stack>
      </Radio.Group>
    </DialogForm>
  );
}
