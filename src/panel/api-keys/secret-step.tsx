/** Dialog step that shows the secret of a key once, with an `.env` line and a curl command to copy. */
import { useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import type { LeaveConfirmation } from '../layout/secret-dialog.js';
import { SecretFrame, SecretLine } from '../layout/secret-frame.js';
import { useExampleUrl } from './example-url.js';

interface SecretStepProps extends LeaveConfirmation {
  readonly secret: string;
  readonly scopes: readonly string[];
  readonly children?: ReactNode;
}

export function SecretStep({ secret, scopes, children, ...leaving }: SecretStepProps) {
  const { t } = useLingui();
  const url = useExampleUrl(scopes);
  const lost = t`You can't view this secret again. You'd need to rotate the key.`;
  return (
    <SecretFrame lost={lost} {...leaving}>
      {children}
      <SecretLine label={t`Secret`} text={secret} autoFocus />
      <SecretLine label={t`.env file`} text={`API_KEY=${secret}`} />
      {url !== null && (
        <SecretLine label={t`Test with curl`} text={`curl -H "Authorization: Bearer ${secret}" "${url}"`} />
      )}
    </SecretFrame>
  );
}
