/** The secret of a key, shown once, with lines to use it by. */
import { useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { SecretFrame, SecretLine } from '../layout/secret-frame.js';
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
  const lost = t`You can't view this secret again. You'd need to rotate the key.`;
  return (
    <SecretFrame lost={lost} isLeaving={isLeaving} onStay={onStay} onDone={onDone}>
      {children}
      <SecretLine label={t`Secret`} text={secret} autoFocus />
      <SecretLine label={t`For a .env file`} text={`API_KEY=${secret}`} />
      {url !== null && (
        <SecretLine label={t`Test with curl`} text={`curl -H "Authorization: Bearer ${secret}" "${url}"`} />
      )}
    </SecretFrame>
  );
}
