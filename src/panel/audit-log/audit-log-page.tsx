/** Lists the changes of an account, newest first. */
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
import { useActionWords } from './actions.js';
import { useActorWords, useFieldWords } from '../words/fields.js';
import { useValueWords } from './values.js';

type Entry = components['schemas']['AuditEntry'];

export function AuditLogPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const entries = usePages(['account', id, 'audit-log'], (page, signal) =>
    unwrap(api.GET('/admin/v1/audit-log', { params: { query: { account_id: id, ...page } }, signal })),
  );
  return (
    <Page title={t`Audit log`} about={<Trans>A record of every change. Entries can't be edited.</Trans>}>
      <PagedList
        list={entries}
        empty={<Empty icon="audit" title={t`No activity yet`} text={t`Changes to the account appear here.`} />}
      >
        {(rows) => (
          <Lines>
            {rows.map((entry) => (
              <Change key={entry.id} entry={entry} />
            ))}
          </Lines>
        )}
      </PagedList>
    </Page>
  );
}

/** Fields that identify a created or removed object. */
const TELLING = ['email', 'role', 'amount'];
/** Fields that explain a change: its reason, and how long the previous state lasts. */
const BESIDE = ['reason', 'cause', 'disabled_reason', 'previous_secret_expires_at', 'previous_secrets_expire_at'];

/** A field to show. `from` is missing if the field did not change. */
interface Told {
  readonly name: string;
  readonly from?: unknown;
  readonly to: unknown;
}

/** Returns the fields to show: changes, and what identifies or explains them. */
function fieldsOf({ before, after }: Entry): readonly Told[] {
  const there = after ?? before ?? {};
  const changed = Object.keys(before === null || after === null ? {} : after)
    .filter((name) => before !== null && name in before && JSON.stringify(before[name]) !== JSON.stringify(there[name]))
    .map((name) => ({ name, from: before?.[name], to: there[name] }));
  const telling = (changed.length > 0 ? BESIDE : [...TELLING, ...BESIDE])
    .filter((name) => changed.every((other) => other.name !== name))
    .filter((name) => typeof there[name] === 'string' || typeof there[name] === 'number')
    .map((name) => ({ name, to: there[name] }));
  return [...changed, ...telling];
}

function Change({ entry }: { readonly entry: Entry }) {
  const { time_zone: timeZone, id: accountId } = useAccount();
  const { time } = useFormats(timeZone);
  const action = useActionWords();
  const field = useFieldWords();
  const value = useValueWords();
  const actorWords = useActorWords();
  const { before, after, target } = entry;
  const then = after?.['name'] ?? before?.['name'];
  // Omit the account's own name, which the page header shows.
  const now = target.id === accountId ? null : target.name;
  const name = typeof then === 'string' ? then : now;
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
