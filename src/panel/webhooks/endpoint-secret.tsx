/** The secret that an endpoint's receiver knows our events by, shown once. */
import { Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { SecretFrame, SecretLine } from '../layout/secret-frame.js';

interface EndpointSecretProps {
  readonly url: string;
  readonly secret: string;
  readonly isLeaving: boolean;
  readonly onStay: () => void;
  readonly onDone: () => void;
  readonly children?: ReactNode;
}

export function EndpointSecret({ url, secret, isLeaving, onStay, onDone, children }: EndpointSecretProps) {
  const { t } = useLingui();
  const lost = t`You can't view this secret again. You'd need to create a new one.`;
  return (
    <SecretFrame lost={lost} isLeaving={isLeaving} onStay={onStay} onDone={onDone}>
      <Text>
        <Trans>
          This is the signing secret for <b className="name">{url}</b>. Use it to verify that events come from us.
        </Trans>
      </Text>
      {children}
      <SecretLine label={t`Secret`} text={secret} autoFocus />
      <SecretLine label={t`For a .env file`} text={`WEBHOOK_SECRET=${secret}`} />
    </SecretFrame>
  );
}
