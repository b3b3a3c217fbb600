/** Second step of a sign-in with a password: a form for a code from the authenticator app, or for a recovery code. */
import { Button } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../api/client.js';
import type { SignIn } from '../api/schemas.js';
import { Form } from '../layout/form.js';
import { FormText } from '../layout/form-fields.js';

interface SecondFactorFormProps {
  readonly onSignIn: (signIn: SignIn) => void;
  readonly onBack: () => void;
}

export function SecondFactorForm({ onSignIn, onBack }: SecondFactorFormProps) {
  const { t } = useLingui();
  const [code, setCode] = useState('');
  const [isRecovery, setRecovery] = useState(false);
  const enter = useMutation({
    gcTime: 0,
    mutationFn: () => {
      const body = isRecovery ? { recovery_code: code.trim() } : { code: code.replaceAll(/\s/g, '') };
      return unwrap(api.POST('/admin/v1/sign-in/second-factor', { body }));
    },
    onSuccess: onSignIn,
    onError: () => setCode(''),
  });
  const change = (): void => {
    setRecovery(!isRecovery);
    setCode('');
    // Remove the previous error, which was about the other kind of code.
    enter.reset();
  };
  return (
    <Form
      error={enter.error}
      checks={{ [isRecovery ? 'recovery_code' : 'code']: code.trim() === '' && t`Fill this in.` }}
      onSubmit={() => enter.mutate()}
      footer={
        <>
          <Button type="submit" size="md" loading={enter.isPending}>
            <Trans>Continue</Trans>
          </Button>
          <Button variant="subtle" size="sm" onClick={change}>
            {isRecovery ? t`Use the app instead` : t`Use a recovery code`}
          </Button>
          <Button variant="subtle" size="sm" onClick={onBack}>
            <Trans>Start over</Trans>
          </Button>
        </>
      }
    >
      <FormText
        key={String(isRecovery)}
        field={isRecovery ? 'recovery_code' : 'code'}
        label={isRecovery ? t`Recovery code` : t`Code from your authenticator app`}
        description={isRecovery ? t`Each code works once.` : t`Six digits, new every 30 seconds.`}
        name="code"
        autoComplete="one-time-code"
        inputMode={isRecovery ? 'text' : 'numeric'}
        required
        withAsterisk={false}
        autoFocus
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
    </Form>
  );
}
