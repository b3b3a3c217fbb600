/**
 * Dialog that edits an API key: name, permissions, expiration, IP restrictions and limits. If someone else changed or
 * revoked the key in the meantime, the dialog says so.
 */
import { useLingui } from '@lingui/react/macro';
import { hasCode } from '../api/problem.js';
import { EditDialog as Dialog, type EditTarget } from '../layout/edit-dialog.js';
import { useAccount } from '../session/accounts.js';
import { KeyFailure, isRevokedMeanwhile } from './key-failure.js';
import { KeyFields, useKeyChecks } from './key-fields.js';
import { changeOf, valuesOfKey, type KeyValues } from './key-values.js';
import { refetchKeys, updateKey, useImpact, type Key, type OAuthGrant } from './keys.js';
import { EditConflict } from './edit-conflict.js';

export function EditDialog({ shown, ...edited }: EditTarget<Key>) {
  const { t, i18n } = useLingui();
  const { time_zone: timeZone } = useAccount();
  return (
    <Dialog<Key, KeyValues>
      title={t`Edit API key`}
      shown={shown}
      {...edited}
      valuesOf={valuesOfKey}
      useChecks={useKeyChecks}
      save={(before, after, etag) => updateKey(shown.id, changeOf(before, after, timeZone, i18n.locale), etag)}
      refetch={() => refetchKeys(shown.account_id, shown.id)}
      failure={(error) =>
        hasCode(error, 'precondition_failed') ? (
          <EditConflict error={error} now={shown} />
        ) : isRevokedMeanwhile(error) ? (
          <KeyFailure error={error} />
        ) : undefined
      }
    >
      {(values, onChange, opening) => <Fields values={values} current={opening} onChange={onChange} />}
    </Dialog>
  );
}

interface FieldsProps {
  readonly values: KeyValues;
  readonly current: Key;
  readonly onChange: (change: Partial<KeyValues>) => void;
}

/**
 * Fields renders the form. For the key of an OAuth client, the form offers only the granted scopes and expirations.
 * Until the grant is loaded, the form offers only the current scopes and expiration of the key.
 */
function Fields(props: FieldsProps) {
  const { id, oauth_client: client, scopes, expires_at: end } = props.current;
  const { data } = useImpact(id, client !== null);
  const grant: OAuthGrant | null = client === null ? null : (data?.oauth_grant ?? { scopes, latest_expires_at: end });
  return <KeyFields {...props} grant={grant} />;
}
