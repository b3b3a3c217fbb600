/**
 * Alert on the page of a webhook endpoint while events are also signed with previous secrets. A button ends these
 * secrets early.
 */
import { Trans } from '@lingui/react/macro';
import { PreviousSecretAlert } from '../layout/previous-secret-alert.js';
import { useAccount, useCan } from '../session/accounts.js';
import { useFormats } from '../words/times.js';
import { endPreviousSecret, previousSecretEnds, refetchEndpoint, type Endpoint } from './webhooks.js';

export function PreviousSecrets({ endpoint }: { readonly endpoint: Endpoint }) {
  const may = useCan();
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  const [last] = previousSecretEnds(endpoint);
  if (last === undefined) return null;
  const until = time(last);
  return (
    <PreviousSecretAlert
      says={<Trans>Events are also signed with the previous secret until {until}.</Trans>}
      mayEnd={may('endPreviousWebhookSecret')}
      act={async () => {
        await endPreviousSecret(endpoint.id);
        await refetchEndpoint(endpoint);
      }}
    >
      <Trans>
        A receiver that only knows the previous secret rejects every event from now on. The current secret keeps
        signing.
      </Trans>
    </PreviousSecretAlert>
  );
}
