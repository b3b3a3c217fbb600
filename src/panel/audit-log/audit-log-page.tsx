/** Page on which owners and admins read the audit log of an account, newest entry first. */
import { Code, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { Empty } from '../layout/empty.js';
import { Page } from '../layout/page.js';
import { Lines, PagedList } from '../layout/paged-list.js';
import { useAccount } from '../session/accounts.js';
import { useFormats } from '../words/times.js';
import { useActionLabel } from './actions.js';
import { useActorLabel, useFieldLabel } from '../words/fields.js';
import { useValueText } from './values.js';

type Entry = components['schemas']['AuditEntry'];

export function AuditLogPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const entries = usePages(['account', id, 'audit-log'], (page, signal) =>
    unwrap(api.GET('/admin/v1/audit-log', { params: { query: { account_id: id, ...page } }, signal })),
  );
  return (
    <Page title={t`Audit log`} description={<Trans>A record of every change. Entries can't be edited.</Trans>}>
      <PagedList
        list={entries}
        empty={<Empty icon="audit" title={t`No activity yet`} text={t`Changes to the account appear here.`} />}
      >
        {(rows) => (
          <Lines>
            {rows.map((entry) => (
              <EntryLine key={entry.id} entry={entry} />
            ))}
          </Lines>
        )}
      </PagedList>
    </Page>
  );
}

/**
 * Fields that identify an object. An entry shows them if no field changed, for example after a creation or deletion.
 */
const IDENTIFYING = ['email', 'role', 'amount'];
/** Fields that explain a change: its reason, and how long a previous secret keeps working. */
const EXPLANATORY = ['reason', 'cause', 'disabled_reason', 'previous_secret_expires_at', 'previous_secrets_expire_at'];

/** Field of the object, as an entry shows it. `from` is missing if the field did not change. */
interface ShownField {
  readonly name: string;
  readonly from?: unknown;
  readonly to: unknown;
}

/**
 * Returns the fields that an entry shows: fields that changed, and fields that identify the object or explain the
 * change.
 */
function fieldsOf({ before, after }: Entry): readonly ShownField[] {
  // After a deletion, only `before` has the fields.
  const state = after ?? before ?? {};
  const changed = Object.keys(before === null || after === null ? {} : after)
    .filter((name) => before !== null && name in before && JSON.stringify(before[name]) !== JSON.stringify(state[name]))
    .map((name) => ({ name, from: before?.[name], to: state[name] }));
  const context = (changed.length > 0 ? EXPLANATORY : [...IDENTIFYING, ...EXPLANATORY])
    .filter((name) => changed.every((other) => other.name !== name))
    .filter((name) => typeof state[name] === 'string' || typeof state[name] === 'number')
    .map((name) => ({ name, to: state[name] }));
  return [...changed, ...context];
}

function EntryLine({ entry }: { readonly entry: Entry }) {
  const { time_zone: timeZone, id: accountId } = useAccount();
  const { time } = useFormats(timeZone);
  const action = useActionLabel();
  const field = useFieldLabel();
  const value = useValueText();
  const actorWords = useActorLabel();
  const { before, after, target } = entry;
  const recordedName = after?.['name'] ?? before?.['name'];
  // Omit the name of the current account, which the page header already shows.
  const targetName = target.id === accountId ? null : target.name;
  const name = typeof recordedName === 'string' ? recordedName : targetName;
  const actor = entry.actor_label ?? actorWords(entry.actor);
  return (
    <li className="line">
      <Text fw={600}>
        {action(entry.action)}
        {name !== null && (
          <>
            : <bdi className="name">{name}</bdi>
          </>
        )}
      </Text>
      <Text size="sm" c="dimmed">
        <bdi className="name">{actor}</bdi> · {time(entry.created_at)}
        {entry.ip !== '' && ` · ${entry.ip}`}
      </Text>
      {fieldsOf(entry).map((each) => (
        <Text key={each.name} size="sm" className="name" pt={4}>
          {field(each.name)}:{' '}
          {'from' in each && (
            <>
              <Code className="name">{value(each.name, each.from)}</Code> →{' '}
            </>
          )}
          <Code className="name">{value(each.name, each.to)}</Code>
        </Text>
      ))}
    </li>
  );
}
