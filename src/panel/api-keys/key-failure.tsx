/** Error box for a failed change of a key. If someone had already revoked the key, the box says who and when. */
import { Alert } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { hasCode } from '../api/problem.js';
import { Failure } from '../words/failure.js';
import { useActorLabel } from '../words/fields.js';
import { useFormats } from '../words/times.js';

/** Reports whether a change failed because someone had already revoked the key. */
export const isRevokedMeanwhile = (error: unknown): boolean =>
  hasCode(error, 'conflict') &&
  error.fields.some(({ field, changedBy }) => field === 'status' && changedBy !== undefined);

export function KeyFailure({ error }: { readonly error: unknown }) {
  const { t } = useLingui();
  const actor = useActorLabel();
  const { relative } = useFormats();
  if (!isRevokedMeanwhile(error) || !hasCode(error, 'conflict')) return <Failure error={error} />;
  const [{ changedBy = '', changedAt = '' } = {}] = error.fields;
  const who = actor(changedBy);
  const when = changedAt === '' ? '' : relative(changedAt);
  return (
    <Alert color="red" variant="light" role="alert" title={t`This key was revoked`}>
      <Trans>
        <span className="name">{who}</span> revoked it {when}. Create a new key.
      </Trans>
    </Alert>
  );
}
