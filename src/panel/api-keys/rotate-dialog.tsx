/**
 * Dialog that rotates a key. The user chooses how long the current secret keeps working. The dialog then shows the new
 * secret once.
 */
import { Alert, Radio, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useAccount } from '../session/accounts.js';
import { hasCode } from '../api/problem.js';
import { SecretDialog } from '../layout/secret-dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useFormats } from '../words/times.js';
import { isRevokedMeanwhile, KeyFailure } from './key-failure.js';
import { refetchKeys, rotateKey, useImpact, type Key, type Overlap } from './keys.js';
import { LastUse, Until } from './previous-secret.js';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import { SecretStep } from './secret-step.js';

const DAY_SECONDS: Overlap = 86_400;

interface RotateDialogProps {
  readonly shown: Key;
  readonly etag: string | null;
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Result of a rotation. The new secret exists only in the state of this dialog, not in a cache or in storage. */
interface NewSecret {
  readonly secret: string;
  /** When the previous secret stops working (ISO 8601). */
  readonly previousExpiresAt: string;
}

export function RotateDialog({ shown, etag, opened, onClose }: RotateDialogProps) {
  const { t } = useLingui();
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  return (
    <SecretDialog<NewSecret>
      opened={opened}
      onClose={onClose}
      title={t`Rotate key`}
      createdTitle={t`New secret key`}
      form={(onCreated) => <RotateForm shown={shown} etag={etag} onCreated={onCreated} onCancel={onClose} />}
      secret={({ secret, previousExpiresAt }, leaving) => {
        const until = time(previousExpiresAt);
        return (
          <SecretStep secret={secret} scopes={shown.scopes} {...leaving}>
            <Text>
              <Trans>
                This is the new secret key for <b className="name">{shown.name}</b>. The previous secret works until{' '}
                {until}.
              </Trans>
            </Text>
          </SecretStep>
        );
      }}
    />
  );
}

interface RotateFormProps {
  readonly shown: Key;
  readonly etag: string | null;
  readonly onCreated: (made: NewSecret) => void;
  readonly onCancel: () => void;
}

function RotateForm({ shown, etag, onCreated, onCancel }: RotateFormProps) {
  const { t } = useLingui();
  const { relative } = useFormats();
  const [overlap, setOverlap] = useState<Overlap>(DAY_SECONDS);
  const { error, isPending, send, changed } = useIdempotentRequest();
  const endsPrevious = shown.previous_secret_expires_at !== null;
  const { data: impact } = useImpact(shown.id, true);
  const current = impact?.current_secret;
  const lastUsed = current?.last_used_at ? relative(current.last_used_at) : null;
  const from = current?.last_used_ip ?? '';
  const rotate = () =>
    send(async (requestId) => {
      // The request ends the previous secret only if the dialog warned about that. Otherwise, if a previous secret
      // still works, the API rejects every rotation with an overlap.
      const body = { overlap_seconds: overlap, end_previous_secret: endsPrevious };
      const made = await rotateKey(shown.id, body, etag, requestId).catch((caught: unknown) => {
        // Refetch the key, so that the dialog shows the current state of the key before the next attempt.
        if (hasCode(caught, 'precondition_failed', 'previous_secret_active', 'conflict'))
          void refetchKeys(shown.account_id, shown.id);
        throw caught;
      });
      onCreated({ secret: made.secret, previousExpiresAt: made.previous_secret_expires_at });
      void refetchKeys(shown.account_id, shown.id);
    });
  return (
    <DialogForm
      submitLabel={endsPrevious ? t`Rotate and end previous secret` : t`Create new secret`}
      cancelLabel={endsPrevious ? t`Keep previous secret` : undefined}
      color={overlap === 0 || endsPrevious ? 'red' : 'river'}
      error={error}
      failure={isRevokedMeanwhile(error) ? <KeyFailure error={error} /> : undefined}
      isPending={isPending}
      onSubmit={() => void rotate()}
      onCancel={onCancel}
    >
      {endsPrevious && (
        <Alert variant="light" color="orange" title={t`Rotating ends the previous secret`}>
          <Text size="sm">
            <Until apiKey={shown} /> <LastUse apiKey={shown} />{' '}
            <Trans>Two secrets can work at a time. Requests using the previous secret fail immediately.</Trans>
          </Text>
        </Alert>
      )}
      <Text>
        <Trans>
          Rotating creates a new secret with the same permissions. Choose how long the current secret keeps working.
        </Trans>
      </Text>
      {lastUsed !== null && (
        <Alert variant="light">
          <Text size="sm">
            <Trans>
              The current secret was last used {lastUsed} from {from}.
            </Trans>
          </Text>
        </Alert>
      )}
      <Radio.Group
        label={t`Expire current secret`}
        value={String(overlap)}
        onChange={(value) => {
          changed();
          setOverlap(Number(value) as Overlap);
        }}
      >
        <Stack gap={10} pt={8}>
          <Radio value="604800" label={t`In 7 days`} description={t`If other teams need time to update.`} />
          <Radio value="86400" label={t`In 24 hours`} data-autofocus />
          <Radio value="3600" label={t`In 1 hour`} />
          <Radio
            value="0"
            label={t`Immediately`}
            description={t`If it may be compromised. Requests using it fail right away.`}
          />
        </Stack>
      </Radio.Group>
    </DialogForm>
  );
}
