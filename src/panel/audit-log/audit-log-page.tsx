/** Who changed what in the account, newest first. */
import { Card, Code, Skeleton, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, ask } from '../api/client.js';
import { Empty } from '../layout/empty.js';
import { Page } from '../layout/page.js';
import { ShowMore } from '../layout/show-more.js';
import { useAccount } from '../session/accounts.js';
import { Failure } from '../words/failure.js';
import { useFormats } from '../words/times.js';
import { useActionWords, useActorWords, useFieldWords } from './actions.js';

type Entry = components['schemas']['AuditEntry'];

const PAGE_SIZE = 50;

export function AuditLogPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const entries = useInfiniteQuery({
    queryKey: ['account', id, 'audit-log'],
    queryFn: ({ pageParam }) => {
      const query = { account_id: id, limit: PAGE_SIZE, ...(pageParam === null ? {} : { cursor: pageParam }) };
      return ask(api.GET('/admin/v1/audit-log', { params: { query } }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor: next }) => next,
  });
  const rows = entries.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Page title={t`Audit log`} about={<Trans>Who changed what. It can be read, and never changed.</Trans>}>
      {entries.error !== null && <Failure error={entries.error} again={() => void entries.refetch()} />}
      {entries.isPending && <Skeleton h={240} radius="lg" />}
      {entries.isSuccess && rows.length === 0 && (
        <Empty icon="audit" title={t`Nothing changed yet`} text={t`What you and others change stands here.`} />
      )}
      {rows.length > 0 && (
        <Card p={0}>
          <Stack gap={0} component="ul" className="plain-list">
            {rows.map((entry) => (
              <Change key={entry.id} entry={entry} />
            ))}
          </Stack>
        </Card>
      )}
      <ShowMore list={entries} />
    </Page>
  );
}

function Change({ entry }: { readonly entry: Entry }) {
  const { time_zone: timeZone } = useAccount();
  const { time } = useFormats(timeZone);
  const action = useActionWords();
  const field = useFieldWords();
  const actorWords = useActorWords();
  const changed = Object.keys(entry.after ?? {}).filter((name) => entry.before !== null && name in entry.before);
  const name = entry.after?.['name'] ?? entry.before?.['name'];
  const actor = entry.actor_label ?? actorWords(entry.actor);
  return (
    <li className="line">
      <Text fw={600}>
        {action(entry.action)}
        {typeof name === 'string' && (
          <>
            : <bdi className="name">{name}</bdi>
          </>
        )}
      </Text>
      <Text size="sm" c="dimmed">
        <bdi className="name">{actor}</bdi> · {time(entry.created_at)} · {entry.ip}
      </Text>
      {changed.map((each) => (
        <Text key={each} size="sm" className="name" pt={4}>
          {field(each)}: <Code className="name">{shown(entry.before?.[each])}</Code> →{' '}
          <Code className="name">{shown(entry.after?.[each])}</Code>
        </Text>
      ))}
    </li>
  );
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? '–'));
