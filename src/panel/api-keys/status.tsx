/** Badge with the status of an API key, and alerts that explain the status. */
import { Alert, Badge } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { Key, KeyStatus } from './keys.js';

const COLORS: Readonly<Record<KeyStatus, string>> = {
  active: 'river',
  paused: 'orange',
  expired: 'gray',
  revoked: 'red',
};

/** Returns the label of each key status. */
export function useStatusLabels(): Readonly<Record<KeyStatus, string>> {
  const { t } = useLingui();
  return { active: t`Active`, paused: t`Paused`, expired: t`Expired`, revoked: t`Revoked` };
}

interface StatusProps {
  readonly status: KeyStatus;
  /**
   * Replaces the usual label. In Spanish, objects whose noun has another gender than the word for key need another
   * label.
   */
  readonly word?: string;
}

export function Status({ status, word }: StatusProps) {
  const words = useStatusLabels();
  return (
    <Badge variant="light" color={COLORS[status]} style={{ flexShrink: 0 }}>
      {word ?? words[status]}
    </Badge>
  );
}

/** State explains the status of a key that does not work, and says what to do. Renders nothing for an active key. */
export function State({ apiKey: { status, oauth_client: client } }: { readonly apiKey: Key }) {
  if (client !== null) return <ClientState status={status} />;
  if (status === 'paused')
    return (
      <Alert color="orange" variant="light">
        <Trans>This key is paused. Requests are rejected until you resume it.</Trans>
      </Alert>
    );
  if (status === 'expired')
    return (
      <Alert color="gray" variant="light">
        <Trans>This key has expired. Edit it to extend the expiration.</Trans>
      </Alert>
    );
  if (status === 'revoked')
    return (
      <Alert color="red" variant="light">
        <Trans>This key was revoked and can't be restored. Create a new key.</Trans>
      </Alert>
    );
  return null;
}

/**
 * ClientState explains the status of an OAuth client's key, but speaks of a connection instead of a key. Renders
 * nothing for an active key.
 */
function ClientState({ status }: Pick<Key, 'status'>) {
  if (status === 'paused')
    return (
      <Alert color="orange" variant="light">
        <Trans>
          This connection is paused. Calls are rejected until you resume it. You don't need to connect it again.
        </Trans>
      </Alert>
    );
  if (status === 'expired')
    return (
      <Alert color="gray" variant="light">
        <Trans>This connection has expired. Connect the assistant again to restore access.</Trans>
      </Alert>
    );
  if (status === 'revoked')
    return (
      <Alert color="red" variant="light">
        <Trans>This connection was revoked. Connect the assistant again to restore access.</Trans>
      </Alert>
    );
  return null;
}
