/**
 * Alert on the page of a rotated key while the previous secret still works. It shows the expiration and the last use,
 * and can end the previous secret early.
 */
import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { PreviousSecretAlert } from '../layout/previous-secret-alert.js';
import { useAccount, useCan } from '../session/accounts.js';
import { useFormats } from '../words/times.js';
import { endPreviousSecret, refetchKeys, useImpact, type Key } from './keys.js';

export function PreviousSecret({ apiKey: key }: { readonly apiKey: Key }) {
  const may = useCan();
  const impact = useImpact(key.id, true);
  if (key.previous_secret_expires_at === null) return null;
  return (
    <PreviousSecretAlert
      says={
        <>
          <Until apiKey={key} /> <LastUse apiKey={key} />
        </>
      }
      mayEnd={may('endPreviousApiKeySecret')}
      // Refetch the last use of the secret, because the user decides by it.
      onAsk={() => void impact.refetch()}
      act={async () => {
        await endPreviousSecret(key.id);
        await refetchKeys(key.account_id, key.id);
      }}
    >
      <Trans>Requests using the previous secret fail immediately. The current secret keeps working.</Trans>{' '}
      <LastUse apiKey={key} />
    </PreviousSecretAlert>
  );
}

/** Until says how long the previous secret works. */
export function Until({ apiKey: { previous_secret_expires_at: at } }: { readonly apiKey: Key }): ReactNode {
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  const until = at === null ? '' : time(at);
  return <Trans>The previous secret works until {until}.</Trans>;
}

/**
 * LastUse says when and from which address the previous secret was last used. Renders nothing without a previous
 * secret, or until its usage is loaded.
 */
export function LastUse({ apiKey: key }: { readonly apiKey: Key }): ReactNode {
  const { relative } = useFormats();
  const { data } = useImpact(key.id, true);
  const previous = data?.old_secret;
  if (previous === null || previous === undefined) return null;
  if (previous.last_used_at === null) return <Trans>It has not been used since the rotation.</Trans>;
  const used = relative(previous.last_used_at);
  const from = previous.last_used_ip ?? '';
  return (
    <Trans>
      Last used {used} from {from}.
    </Trans>
  );
}
