/** Dialog step that shows the signing secret of a webhook endpoint once, with an `.env` line to copy. */
import { Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { LeaveConfirmation } from '../layout/secret-dialog.js';
import { SecretFrame, SecretLine } from '../layout/secret-frame.js';

interface EndpointSecretProps extends LeaveConfirmation {
  readonly url: string;
  readonly secret: string;
}

export function EndpointSecret({ url, secret, ...leaving }: EndpointSecretProps) {
  const { t } = useLingui();
  const lost = t`You can't view this secret again. You'd need to create a new one.`;
  return (
    <SecretFrame lost={lost} {...leaving}>
      <Text>
        <Trans>
          This is the signing secret for <b className="name">{url}</b>. Use it to verify that events come from us.
        </Trans>
      </Text>
      <SecretLine label={t`Secret`} text={secret} autoFocus />
      <SecretLine label={t`.env file`} text={`WEBHOOK_SECRET=${secret}`} />
    </SecretFrame>
  );
}
