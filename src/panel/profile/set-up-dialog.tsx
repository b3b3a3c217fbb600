/**
 * Dialog that sets up an authenticator app. The user scans the secret and enters the first code. The dialog then shows
 * the recovery codes once.
 */
import { Code, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { SecretDialog } from '../layout/secret-dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { FormText } from '../layout/form-fields.js';
import { Failure } from '../words/failure.js';
import { CodesStep } from './codes-step.js';
import { QrPicture } from './qr-picture.js';

type Setup = components['schemas']['TotpSetup'];

interface SetUpDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** Called after the app is active and the dialog has removed the recovery codes. */
  readonly onDone: () => void;
}

export function SetUpDialog({ opened, onClose, onDone }: SetUpDialogProps) {
  const { t } = useLingui();
  return (
    <SecretDialog<readonly string[]>
      opened={opened}
      onClose={onClose}
      title={t`Set up an authenticator app`}
      createdTitle={t`Recovery codes`}
      size={520}
      keepsForm
      // Render no form while the dialog fades out, because the form would start a new setup.
      form={(onCreated) => opened && <SetUp onCreated={onCreated} onClose={onClose} />}
      secret={(codes, leaving) => <CodesStep codes={codes} {...leaving} />}
      onForgotten={onDone}
    />
  );
}

interface SetUpProps {
  readonly onCreated: (codes: readonly string[]) => void;
  readonly onClose: () => void;
}

function SetUp({ onCreated, onClose }: SetUpProps) {
  const { t } = useLingui();
  const [setup, setSetup] = useState<Setup | null>(null);
  const [code, setCode] = useState('');
  // The setup is a mutation without cache time, because the cache of a query would keep the secret.
  const begin = useMutation({
    gcTime: 0,
    mutationFn: async () => setSetup(await unwrap(api.POST('/admin/v1/me/totp'))),
  });
  const { mutate: start } = begin;
  useEffect(() => start(), [start]);
  const confirm = useMutation({
    gcTime: 0,
    mutationFn: async () => {
      const body = { code: code.replaceAll(/\s/g, '') };
      onCreated((await unwrap(api.POST('/admin/v1/me/totp/confirm', { body }))).recovery_codes);
    },
    onError: () => setCode(''),
  });
  if (setup === null) return begin.error === null ? null : <Failure error={begin.error} again={() => start()} />;
  return (
    <DialogForm
      submitLabel={t`Continue`}
      error={confirm.error}
      checks={{ code: code.trim() === '' && t`Fill this in.` }}
      isPending={confirm.isPending}
      gap="md"
      onSubmit={() => confirm.mutate()}
      onCancel={onClose}
    >
      <Text size="sm">
        <Trans>Scan this with an app such as Aegis, Google Authenticator or your password manager.</Trans>
      </Text>
      <QrPicture text={setup.uri} label={t`QR code for the authenticator app`} />
      <div>
        <Text size="sm" pb={6}>
          <Trans>Or type the secret into the app:</Trans>
        </Text>
        <Code block className="secret" translate="no">
          {setup.secret.replaceAll(/(.{4})(?!$)/g, '$1 ')}
        </Code>
      </div>
      <FormText
        field="code"
        label={t`Code from your authenticator app`}
        description={t`Six digits, new every 30 seconds.`}
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        withAsterisk={false}
        autoFocus
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
    </DialogForm>
  );
}
